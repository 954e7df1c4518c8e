// SPDX-License-Identifier: Apache-2.0
// Messages copied by a GPU's copy engines or by its kernels, straight from the sender's memory into
// the receiver's.
#include <algorithm>

#include "native/gpu.hpp"

namespace nearpeak {
namespace {

// Moves one window of messages, slot by slot.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual void start(char* to, const char* from) = 0;
  virtual void finish() = 0;  // returns when all are in their place
};

struct Shape {
  std::size_t bytes;
  std::size_t stride;
  std::uint64_t window;
};

// The copy engines: message after message, over the streams in turn.
class EngineMover final : public Mover {
 public:
  EngineMover(Device& device, const Shape& shape, std::size_t streams, bool poll)
      : device_(device), shape_(shape), poll_(poll) {
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back(device.new_stream());
  }

  void start(char* to, const char* from) override {
    if (shape_.bytes == 0) return;
    std::size_t stream = 0;
    for (std::uint64_t m = 0; m < shape_.window; ++m) {
      device_.copy_async(to + m * shape_.stride, from + m * shape_.stride, shape_.bytes,
                         *streams_[stream]);
      if (++stream == streams_.size()) stream = 0;
    }
  }

  void finish() override {
    if (shape_.bytes == 0) return;
    for (const auto& stream : streams_) {
      if (poll_)
        while (!stream->finished()) {
        }
      else
        stream->synchronize();
    }
  }

 private:
  Device& device_;
  const Shape shape_;
  const bool poll_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

// A kernel that loads and stores, once for all messages.
class KernelMover final : public Mover {
 public:
  KernelMover(Device& device, Program& program, const Shape& shape)
      : bytes_(shape.bytes),
        stride_(shape.stride),
        count_(shape.window),
        kernel_(program.kernel("copy_slots")),
        stream_(device.new_stream()) {
    // Each thread has four loads under way; beyond some thousand blocks no GPU holds more at once.
    constexpr std::uint64_t kBlockBytes = std::uint64_t{kThreads} * 4 * 16;
    constexpr std::uint64_t kMostBlocks = 1024;
    blocks_ = std::clamp<std::uint64_t>((bytes_ + kBlockBytes - 1) / kBlockBytes, 1, kMostBlocks);
    all_blocks_ = blocks_ * std::clamp<std::uint64_t>(kMostBlocks / blocks_, 1, count_);
  }

  void start(char* to, const char* from) override {
    kernel_->launch({static_cast<unsigned>(all_blocks_), kThreads},
                    {&to, &from, &bytes_, &stride_, &count_, &blocks_}, *stream_);
  }
  void finish() override { stream_->synchronize(); }

 private:
  static constexpr unsigned kThreads = 256;

  std::uint64_t bytes_;
  std::uint64_t stride_;
  std::uint64_t count_;
  std::uint64_t blocks_ = 1;      // of one message
  std::uint64_t all_blocks_ = 1;  // of the launch
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
};

// Who issues the copies, where both ends could.
enum class Issuer { kSender, kReceiver, kLeader };

// The rank that issues the copies of what `sender` sends: one that has a device and reaches the
// other's memory. Managed memory cannot be opened by another process.
std::optional<int> issuing_rank(const BufferKinds& kinds, int sender, Issuer issuer) {
  const int first = issuer == Issuer::kSender     ? sender
                    : issuer == Issuer::kReceiver ? 1 - sender
                                                  : 0;
  for (const int rank : {first, 1 - first})
    if (on_device(kinds[rank]) && kinds[1 - rank] != BufferKind::kManaged) return rank;
  return std::nullopt;
}

struct CopyMethod {
  std::string name;
  bool kernels;
  Issuer issuer;
  std::size_t streams = 1;
  bool poll = false;
  bool registered = true;  // the slots of an end in host memory

  bool applies(const Exchange& exchange, const BufferKinds& kinds) const {
    if (!issuing_rank(kinds, 0, issuer)) return false;
    const bool choice = kinds[0] == BufferKind::kDevice && kinds[1] == BufferKind::kDevice;
    if (issuer != Issuer::kSender && !choice) return false;
    // One way, the leader is the sender.
    if (issuer == Issuer::kLeader && exchange.pattern == Pattern::kOneWay) return false;
    if (streams > 1 && exchange.window < streams) return false;
    if (poll && exchange.window > 1) return false;
    if (!registered && kinds[0] != BufferKind::kHost && kinds[1] != BufferKind::kHost) return false;
    // Of nothing only the flag goes across.
    return exchange.bytes > 0 || (!kernels && !poll && registered && issuer == Issuer::kSender);
  }

  std::string unavailable(const GpuEnd& end) const {
    const Exchange& exchange = end.exchange;
    const bool out = exchange.sends() && issues(end, exchange.rank);
    const bool in = exchange.receives() && issues(end, exchange.peer());
    if (!out && !in) return "";
    if (registered && !end.why_unreachable.empty()) return end.why_unreachable;
    if (kernels && end.motion == nullptr) return end.why_no_kernels;
    return "";
  }

  bool issues(const GpuEnd& end, int sender) const {
    return issuing_rank(end.kinds, sender, issuer) == end.exchange.rank;
  }
};

class CopyTransfer final : public RoundTransfer<CopyTransfer, GpuEnd> {
 public:
  CopyTransfer(const GpuEnd& end, const CopyMethod& method)
      : RoundTransfer(end),
        stride_(SlotBuffer::stride(end.exchange.bytes)),
        sends_(end.exchange.sends() && method.issues(end, end.exchange.rank)),
        takes_(end.exchange.receives() && method.issues(end, end.exchange.peer())),
        peer_issues_(end.exchange.sends() && !sends_) {
    end.posted().value.store(0);
    end.done().value.store(0);
    if (sends_) {
      peer_in_ = end.peer_in.address(method.registered);
      out_ = mover(method);
    }
    if (takes_) {
      peer_out_ = end.peer_out.address(method.registered);
      in_ = mover(method);
    }
  }

 private:
  friend RoundTransfer;

  std::unique_ptr<Mover> mover(const CopyMethod& method) const {
    const Shape shape{end_.exchange.bytes, stride_, end_.exchange.window};
    if (method.kernels) return std::make_unique<KernelMover>(*end_.device, *end_.motion, shape);
    return std::make_unique<EngineMover>(*end_.device, shape, method.streams, method.poll);
  }

  void tell(Counter& counter) { counter.value.store(round_, std::memory_order_release); }
  void hear(const Counter& counter) {
    end_.wait.until([&] { return counter.value.load(std::memory_order_acquire) >= round_; });
  }

  void start_out() { out_->start(peer_in_ + at(), end_.out.slot(slots_.first())); }
  void start_in() { in_->start(end_.in.slot(slots_.first()), peer_out_ + at()); }
  std::size_t at() const { return slots_.first() * stride_; }

  // What is posted is in its place, or, where the receiver copies, ready to be taken.
  void send() {
    if (sends_) {
      start_out();
      out_->finish();
    }
    tell(end_.posted());
  }
  void receive() {
    hear(end_.peer_posted());
    if (takes_) {
      start_in();
      in_->finish();
    }
  }

  // The message back says that the first has been taken.
  void ping_pong() {
    if (end_.exchange.rank == 0) send();
    receive();
    if (end_.exchange.rank == 1) send();
  }

  void one_way() {
    if (end_.exchange.rank == 0) {
      send();
      hear(end_.peer_done());
    } else {
      receive();
      tell(end_.done());
    }
  }

  void both_ways() {
    if (peer_issues_) tell(end_.posted());
    if (sends_) start_out();
    if (takes_) {
      hear(end_.peer_posted());
      start_in();
    }
    if (sends_) out_->finish();
    if (takes_) in_->finish();
    tell(end_.done());
    hear(end_.peer_done());
  }

  std::size_t stride_;
  bool sends_;  // this end issues the copies of what it sends,
  bool takes_;  // and of what it receives
  bool peer_issues_;
  char* peer_in_ = nullptr;
  char* peer_out_ = nullptr;
  std::unique_ptr<Mover> out_;
  std::unique_ptr<Mover> in_;
};

GpuMethod method_of(const CopyMethod& copy) {
  return {copy.name,
          [copy](const Exchange& exchange, const BufferKinds& kinds) {
            return copy.applies(exchange, kinds);
          },
          [copy](const GpuEnd& end) { return copy.unavailable(end); },
          [copy](const GpuEnd& end) -> std::unique_ptr<Transfer> {
            return std::make_unique<CopyTransfer>(end, copy);
          }};
}

}  // namespace

std::vector<GpuMethod> gpu_copy_methods() {
  std::vector<GpuMethod> out;
  for (const CopyMethod& copy : {
           CopyMethod{"ce", false, Issuer::kSender},
           CopyMethod{"ce-poll", false, Issuer::kSender, 1, true},
           CopyMethod{"ce2", false, Issuer::kSender, 2},
           CopyMethod{"ce4", false, Issuer::kSender, 4},
           CopyMethod{"ce-pull", false, Issuer::kReceiver},
           CopyMethod{"ce-one", false, Issuer::kLeader},
           CopyMethod{"sm", true, Issuer::kSender},
           CopyMethod{"sm-pull", true, Issuer::kReceiver},
           CopyMethod{"sm-one", true, Issuer::kLeader},
           CopyMethod{"pageable", false, Issuer::kSender, 1, false, false},
       })
    out.push_back(method_of(copy));
  return out;
}

}  // namespace nearpeak
