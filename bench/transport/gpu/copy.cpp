// SPDX-License-Identifier: Apache-2.0
// Messages copied by a GPU's copy engines or by kernels that are launched for them, straight from
// the sender's memory into the receiver's.
#include <algorithm>
#include <optional>

#include "transport/gpu/gpu.hpp"

namespace nearpeak {
namespace {

// Moves messages.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual void start(char* to, const char* from, std::size_t bytes) = 0;
  virtual void finish() = 0;  // returns when all are in their place
};

// Each on the next of some streams.
class StreamMover : public Mover {
 public:
  StreamMover(Device& device, std::size_t streams, bool poll) : device_(device), poll_(poll) {
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back(device.new_stream());
  }
  void finish() final {
    for (std::size_t i = 0; i < std::min(used_, streams_.size()); ++i) {
      if (poll_)
        while (!streams_[i]->finished()) {
        }
      else
        streams_[i]->synchronize();
    }
    used_ = 0;
  }

 protected:
  Stream& next_stream() { return *streams_[used_++ % streams_.size()]; }
  Device& device_;

 private:
  const bool poll_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::size_t used_ = 0;  // messages, since all were finished
};

class EngineMover final : public StreamMover {
 public:
  using StreamMover::StreamMover;
  void start(char* to, const char* from, std::size_t bytes) override {
    device_.copy_async(to, from, bytes, next_stream());
  }
};

// The kernel copy_slots, which loads and stores.
class SlotsKernel {
 public:
  explicit SlotsKernel(Program& program) : kernel_(program.kernel("copy_slots")) {}

  void launch(char* to, const char* from, std::uint64_t bytes, std::uint64_t stride,
              std::uint64_t count, Stream& stream) {
    // Each thread has four loads under way; beyond some thousand blocks no GPU holds more at once.
    constexpr std::uint64_t kBlockBytes = std::uint64_t{kThreads} * 4 * 16;
    constexpr std::uint64_t kMostBlocks = 1024;
    const std::uint64_t blocks =
        std::clamp<std::uint64_t>((bytes + kBlockBytes - 1) / kBlockBytes, 1, kMostBlocks);
    const std::uint64_t all = blocks * std::clamp<std::uint64_t>(kMostBlocks / blocks, 1, count);
    kernel_->launch({.blocks = static_cast<unsigned>(all), .threads = kThreads},
                    {&to, &from, &bytes, &stride, &count, &blocks}, stream);
  }

 private:
  static constexpr unsigned kThreads = 256;
  std::unique_ptr<Kernel> kernel_;
};

class KernelMover final : public StreamMover {
 public:
  KernelMover(Device& device, Program& program, std::size_t streams)
      : StreamMover(device, streams, false), kernel_(program) {}
  void start(char* to, const char* from, std::size_t bytes) override {
    kernel_.launch(to, from, bytes, 0, 1, next_stream());
  }

 private:
  SlotsKernel kernel_;
};

// One launch for all messages that lie at equal steps, as those of a window do.
class WindowMover final : public Mover {
 public:
  WindowMover(Device& device, Program& program, std::size_t stride)
      : kernel_(program), stream_(device.new_stream()), stride_(stride) {}

  void start(char* to, const char* from, std::size_t bytes) override {
    const bool next = count_ > 0 && bytes == bytes_ && to == to_ + count_ * stride_ &&
                      from == from_ + count_ * stride_;
    if (!next) {
      launch();
      to_ = to;
      from_ = from;
      bytes_ = bytes;
    }
    ++count_;
  }
  void finish() override {
    launch();
    stream_->synchronize();
  }

 private:
  void launch() {
    if (count_ > 0) kernel_.launch(to_, from_, bytes_, stride_, count_, *stream_);
    count_ = 0;
  }

  SlotsKernel kernel_;
  std::unique_ptr<Stream> stream_;
  const std::size_t stride_;
  char* to_ = nullptr;
  const char* from_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t count_ = 0;
};

// Who issues the copies, where both ends could.
enum class Issuer { kSender, kReceiver, kFirst };

enum class Way { kEngine, kKernel, kWindow };

struct CopyMethod {
  std::string name;
  Way way = Way::kEngine;
  Issuer issuer = Issuer::kSender;
  std::size_t streams = 1;
  bool poll = false;
  bool registered = true;  // the slots of an end in host memory

  bool kernels() const { return way != Way::kEngine; }

  // Whether this end issues the copies of what it sends, or of what it receives: it has a device
  // and reaches the other's memory. Managed memory cannot be opened by another process.
  bool issues(const GpuEnd& end, bool outgoing) const {
    const bool able = on_device(end.kind) && end.peer_kind != BufferKind::kManaged;
    const bool peer_able = on_device(end.peer_kind) && end.kind != BufferKind::kManaged;
    if (!able || !peer_able) return able;
    switch (issuer) {
      case Issuer::kSender:
        return outgoing;
      case Issuer::kReceiver:
        return !outgoing;
      default:
        return end.messages.first();
    }
  }

  bool applies(const GpuEnd& end) const {
    const Messages& messages = end.messages;
    const bool choice = end.kind == BufferKind::kDevice && end.peer_kind == BufferKind::kDevice;
    if (issuer != Issuer::kSender && !choice) return false;
    // One way, the first is the sender.
    const bool both = messages.sends && messages.receives;
    if (issuer == Issuer::kFirst && !both) return false;
    if (way == Way::kWindow && messages.window == 1) return false;
    if (streams > 1 && messages.window < streams) return false;
    if (poll && messages.window > 1) return false;
    if (!registered && end.kind != BufferKind::kHost && end.peer_kind != BufferKind::kHost)
      return false;
    // Of nothing only the flag goes across.
    return messages.bytes > 0 ||
           (!kernels() && !poll && registered && issuer == Issuer::kSender && streams == 1);
  }

  std::string unavailable(const GpuEnd& end) const {
    const bool out = end.messages.sends && issues(end, true);
    const bool in = end.messages.receives && issues(end, false);
    if (!out && !in) return "";
    if (registered && !end.why_unreachable.empty()) return end.why_unreachable;
    if (kernels() && end.motion == nullptr) return end.why_no_kernels;
    return "";
  }
};

class CopyTransport final : public Transport {
 public:
  CopyTransport(const GpuEnd& end, const CopyMethod& method)
      : end_(end), pushes_(method.issues(end, true)), pulls_(method.issues(end, false)) {
    end.reset();
    if (end.messages.sends && pushes_) {
      peer_in_ = end.peer_in.address(method.registered);
      out_ = mover(method);
    }
    if (end.messages.receives && pulls_) {
      peer_out_ = end.peer_out.address(method.registered);
      in_ = mover(method);
    }
  }

  // What is posted is in its place, or, where the receiver copies, ready to be taken.
  void begin_send(std::size_t slot, std::size_t bytes) override {
    ++sent_;
    if (out_ && bytes > 0) {
      out_->start(peer_in_ + slot * end_.stride, end_.out.slot(slot), bytes);
      moving_out_ = true;
    } else if (!moving_out_) {
      end_.own.control().posted.tell(sent_);
    }
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    if (in_ && bytes > 0)
      pulls_open_.push_back({slot, bytes, ++received_});
    else
      ++received_;
  }
  void finish() override {
    for (const Open& message : pulls_open_) {
      await(message.number);
      in_->start(end_.in.slot(message.slot), peer_out_ + message.slot * end_.stride, message.bytes);
    }
    if (moving_out_) {
      out_->finish();
      moving_out_ = false;
      end_.own.control().posted.tell(sent_);
    }
    if (!pulls_open_.empty()) in_->finish();
    pulls_open_.clear();
    await(received_);
  }

 private:
  struct Open {
    std::size_t slot;
    std::size_t bytes;
    std::uint64_t number;
  };

  std::unique_ptr<Mover> mover(const CopyMethod& method) const {
    switch (method.way) {
      case Way::kKernel:
        return std::make_unique<KernelMover>(*end_.device, *end_.motion, method.streams);
      case Way::kWindow:
        return std::make_unique<WindowMover>(*end_.device, *end_.motion, end_.stride);
      default:
        return std::make_unique<EngineMover>(*end_.device, method.streams, method.poll);
    }
  }
  void await(std::uint64_t number) const {
    wait_until(end_.wait, [&] { return end_.peer.control().posted.told() >= number; });
  }

  const GpuEnd& end_;
  const bool pushes_;
  const bool pulls_;
  char* peer_in_ = nullptr;
  char* peer_out_ = nullptr;
  std::unique_ptr<Mover> out_;
  std::unique_ptr<Mover> in_;
  bool moving_out_ = false;
  std::vector<Open> pulls_open_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

const std::vector<RegisterGpuMethod> entries = [] {
  std::vector<RegisterGpuMethod> out;
  for (const CopyMethod& copy : {
           CopyMethod{.name = "ce"},
           CopyMethod{.name = "ce-poll", .poll = true},
           CopyMethod{.name = "ce2", .streams = 2},
           CopyMethod{.name = "ce4", .streams = 4},
           CopyMethod{.name = "ce-pull", .issuer = Issuer::kReceiver},
           CopyMethod{.name = "ce-one", .issuer = Issuer::kFirst},
           CopyMethod{.name = "sm", .way = Way::kKernel},
           CopyMethod{.name = "sm4", .way = Way::kKernel, .streams = 4},
           CopyMethod{.name = "sm-pull", .way = Way::kKernel, .issuer = Issuer::kReceiver},
           CopyMethod{.name = "sm-one", .way = Way::kKernel, .issuer = Issuer::kFirst},
           CopyMethod{.name = "sm-window", .way = Way::kWindow},
           CopyMethod{.name = "pageable", .registered = false},
       })
    out.emplace_back(GpuMethod{
        .name = copy.name,
        .applies = [copy](const GpuEnd& end) { return copy.applies(end); },
        .unavailable = [copy](const GpuEnd& end) { return copy.unavailable(end); },
        .make = [copy](const GpuEnd& end) { return std::make_unique<CopyTransport>(end, copy); },
        .needs = copy.way == Way::kWindow ? std::vector<std::string>{"window"}
                                          : std::vector<std::string>{}});
  return out;
}();

}  // namespace
}  // namespace nearpeak
