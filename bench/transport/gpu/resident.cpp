// SPDX-License-Identifier: Apache-2.0
// Messages that a kernel moves which stays on the GPU: the sender's CPU rings for each, and the
// receiver's sees it arrive. Nothing is launched, and nothing of the driver called.
#include "accel/resident.hpp"

#include <cstring>
#include <optional>

#include "transport/gpu/gpu.hpp"

namespace nearpeak {
namespace {

// Above, the copy engines carry as much.
constexpr std::size_t kLargest = std::size_t{32} << 20;

// Whether this end's kernel moves what it sends, or what it receives. Between two GPUs it is the
// sender's; on one GPU, where kernels of two processes take turns, one kernel serves both ways.
bool serves(const GpuEnd& end, bool outgoing) {
  const bool able = on_device(end.kind) && end.peer_kind != BufferKind::kManaged;
  const bool peer_able = on_device(end.peer_kind) && end.kind != BufferKind::kManaged;
  if (!able || !peer_able) return able;
  const bool one_gpu = end.own.control().uuid == end.peer.control().uuid;
  return one_gpu ? end.messages.first() : outgoing;
}

// Where the CPU at one end has the message, short ones need not be fetched or stored by the GPU.
ResidentSender::Inside inside(BufferKind sender, BufferKind receiver) {
  if (!on_device(sender)) return ResidentSender::Inside::kInBell;
  if (!on_device(receiver)) return ResidentSender::Inside::kInArrival;
  return ResidentSender::Inside::kNo;
}

ResidentShape shape_of(const GpuEnd& end, bool outgoing) {
  const GpuMemory& server = serves(end, outgoing) ? end.own : end.peer;
  return ResidentShape::of(server.control().multiprocessors, end.stride);
}

ResidentQueue& queue_of(const GpuMemory& sender) {
  return *reinterpret_cast<ResidentQueue*>(sender.queue.data());
}

class ResidentTransport final : public Transport {
 public:
  explicit ResidentTransport(const GpuEnd& end)
      : end_(end),
        serves_out_(serves(end, true)),
        sender_(queue_of(end.own), shape_of(end, true), inside(end.kind, end.peer_kind)),
        receiver_(queue_of(end.peer), shape_of(end, false),
                  inside(end.peer_kind, end.kind) == ResidentSender::Inside::kInArrival) {
    std::vector<ResidentKernel::Direction> directions;
    const bool serves_in = serves(end, false);
    if (serves_out_) clear(end.own);
    if (serves_in) clear(end.peer);
    // Of empty messages the sender itself tells the receiver.
    if (serves_out_ && end.messages.sends)
      directions.push_back(direction(end.own, end.out.slot(0), end.peer_in.address(true)));
    if (serves_in && end.messages.receives)
      directions.push_back(direction(end.peer, end.peer_out.address(true), end.in.slot(0)));
    if (!directions.empty())
      kernel_.emplace(*end.device, *end.motion, shape_of(end, serves_out_), directions[0],
                      directions.size() == 2 ? &directions[1] : nullptr);
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    sends_.push({slot, bytes});
    ring();
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    receives_.push({slot, bytes});
  }
  // Whoever has the kernel waits for what it moves, as it may have to be launched again.
  void finish() override {
    while (!over()) {
      if (kernel_) kernel_->keep();
      wait_once(end_.wait);
    }
  }

 private:
  // The queue begins anew. Nobody else uses it before the next barrier.
  static void clear(GpuMemory& sender) {
    std::memset(static_cast<void*>(&queue_of(sender)), 0, sizeof(ResidentQueue));
  }
  ResidentKernel::Direction direction(GpuMemory& sender, const void* from, void* to) {
    ResidentQueue& queue = queue_of(sender);
    registered_.push_back(
        end_.device->registration()->register_memory(&queue, sender.queue.bytes()));
    return {.queue = &queue, .on_device = registered_.back()->on_device(), .from = from, .to = to};
  }

  void ring() {
    for (; !sends_.empty(); sends_.pop()) {
      const OpenMessage& next = sends_.front();
      if (!sender_.ring(next.slot, next.bytes, end_.out.slot(next.slot))) return;
    }
  }
  bool over() {
    ring();
    for (; !receives_.empty(); receives_.pop()) {
      const OpenMessage& next = receives_.front();
      if (!receiver_.receive(next.bytes, end_.in.slot(next.slot))) return false;
    }
    return sends_.empty() && (!serves_out_ || sender_.all_there());
  }

  const GpuEnd& end_;
  const bool serves_out_;
  ResidentSender sender_;
  ResidentReceiver receiver_;
  std::vector<std::unique_ptr<RegisteredMemory>> registered_;
  std::optional<ResidentKernel> kernel_;
  OpenMessages sends_;
  OpenMessages receives_;
};

std::string unavailable(const GpuEnd& end) {
  if (!serves(end, true) && !serves(end, false)) return "";
  if (!end.why_unreachable.empty()) return end.why_unreachable;
  if (end.device->registration() == nullptr)
    return "host memory cannot be registered with this backend";
  return end.motion == nullptr ? end.why_no_kernels : "";
}

const RegisterGpuMethod entry({
    .name = "resident",
    .applies =
        [](const GpuEnd& end) {
          return end.messages.bytes > 0 && end.messages.bytes <= kLargest &&
                 end.messages.window < ResidentQueue::kMessages &&  // and an empty one
                 (on_device(end.kind) || on_device(end.peer_kind));
        },
    .unavailable = unavailable,
    .make = [](const GpuEnd& end) { return std::make_unique<ResidentTransport>(end); },
    .needs = {"gpu"},
});

}  // namespace
}  // namespace nearpeak
