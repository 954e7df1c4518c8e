// SPDX-License-Identifier: Apache-2.0
// A resident kernel: it stays on a device and moves messages for which CPUs ring. Bells and
// arrivals lie in host memory, which a GPU reads in a microsecond and a CPU in less than a tenth of
// that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "accel/accelerator.hpp"

namespace nearpeak {

// One direction of messages, in host memory that both processes have mapped; all zero at first. A
// message is called by its number, from 0 on, which counts modulo kMessages for places.
struct ResidentQueue {
  // Places. A sender uses one again when its message is in its place, whether or not the receiver
  // has looked: so many may not be under way between two answers of the receiver.
  static constexpr unsigned kMessages = 256;
  static constexpr unsigned kMostParts = 64;  // of a message, each by a block of its own
  static constexpr std::size_t kInside = 8;   // bytes of a message that goes within bell or arrival

  // Four words of 32 bits, stored half by half.
  struct alignas(16) Quad {
    std::atomic<std::uint64_t> low;
    std::atomic<std::uint64_t> high;
  };
  // Beside the mark, in the lower 8 bits of a bell's last word.
  enum Kind : std::uint32_t {
    kCopy = 0,         // 1 to kInside: so many bytes of payload are in the bell
    kIntoArrival = 9,  // they are to come with the arrival
    kNothing = 10,     // the sender has told the receiver itself
  };

  // What says that a place is a message's: its number + 1, as far as 24 bits hold it.
  static std::uint32_t mark(std::uint64_t number) {
    return static_cast<std::uint32_t>(number + 1) & 0xffffff;
  }

  // {slot, bytes, 0, mark and kind}, or with payload: {slot, payload, payload, mark and kind}. The
  // half with the mark is stored last, and a GPU reads both with one load.
  alignas(4096) Quad bells[kMessages];
  // The mark once a message is in its place: of a message in one part, or of each part.
  alignas(4096) std::atomic<std::uint32_t> whole[kMessages];
  std::atomic<std::uint32_t> parts[kMessages][kMostParts];
  Quad inside[kMessages];  // {payload, mark, payload, mark}
  // The epoch of the last kernel that left, in the upper 32 bits, and the message that it would
  // have served next.
  alignas(4096) std::atomic<std::uint64_t> left;
  // The epoch of the kernel that is to leave.
  alignas(128) std::atomic<std::uint32_t> leave;

  // Whether a message of so many bytes has arrived.
  bool has(std::uint64_t number, unsigned in_parts) const;
};

// How a resident kernel divides its work: the same for it and for who waits for its messages.
struct ResidentShape {
  unsigned blocks;       // one serves, the others work for it
  std::uint64_t stride;  // from slot to slot, at both ends

  // For a device of so many multiprocessors: a block on each, but for some that are left to other
  // kernels.
  static ResidentShape of(unsigned multiprocessors, std::uint64_t stride);
  unsigned parts(std::uint64_t bytes) const;

  static constexpr unsigned kThreads = 512;
  static constexpr std::uint64_t kWarpBytes = 4096;    // that the warp which sees the bell moves,
  static constexpr std::uint64_t kBlockBytes = 32768;  // or its block, before others have a part
  static constexpr std::uint64_t kPartBytes = 32768;
  static constexpr std::uint64_t kMostBytes = 0xffffffff;  // of a message
};

// The sender's CPU.
class ResidentSender {
 public:
  enum class Inside { kNo, kInBell, kInArrival };  // where short messages may be

  ResidentSender(ResidentQueue& queue, const ResidentShape& shape, Inside inside)
      : queue_(queue), shape_(shape), inside_(inside) {}

  // False where no bell is free yet. `data`: the message itself, where it may be in the bell.
  bool ring(std::size_t slot, std::size_t bytes, const void* data);
  // Whether everything that was rung for has arrived.
  bool all_there() {
    advance();
    return oldest_ == number_;
  }

 private:
  void advance();

  ResidentQueue& queue_;
  ResidentShape shape_;
  Inside inside_;
  std::uint64_t number_ = 0;
  std::uint64_t oldest_ = 0;                            // that may not have arrived yet
  std::uint32_t bytes_[ResidentQueue::kMessages] = {};  // of the messages from there on
};

// The receiver's CPU: messages are received in the order in which they were rung for.
class ResidentReceiver {
 public:
  ResidentReceiver(ResidentQueue& queue, const ResidentShape& shape, bool in_arrival)
      : queue_(queue), shape_(shape), in_arrival_(in_arrival) {}

  // Whether the next message, of so many bytes, is in its place; then it is received. `data` is
  // where a message is put that came with its arrival.
  bool receive(std::size_t bytes, void* data);

 private:
  ResidentQueue& queue_;
  ResidentShape shape_;
  bool in_arrival_;
  std::uint64_t number_ = 0;
};

// The kernel. Its memory, and that of the messages, outlives it.
class ResidentKernel {
 public:
  // One direction, all as the device calls it.
  struct Direction {
    ResidentQueue* queue;  // as the CPU calls it,
    void* on_device;       // and as the device does
    const void* from;
    void* to;
  };
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000;

  // `second` may be null: there is a kernel for each end, or one for both.
  ResidentKernel(Device& device, Program& motion, const ResidentShape& shape,
                 const Direction& first, const Direction* second,
                 std::uint64_t patience_ns = kPatienceNs);
  ~ResidentKernel();
  ResidentKernel(const ResidentKernel&) = delete;
  ResidentKernel& operator=(const ResidentKernel&) = delete;

  // To be called by whoever waits for its messages. A kernel that was idle for long has left, as it
  // would keep the device from all that waits for the whole of it; it is launched again once there
  // is a bell that it has not served. It has served exactly what it says, and bells stay: nothing
  // is lost or done twice. Throws AcceleratorError where it leaves without having served.
  void keep() {
    if (has_left()) [[unlikely]]
      return_if_rung();
  }

 private:
  bool has_left() const {
    return directions_[0].queue->left.load(std::memory_order_acquire) >> 32 == epoch_;
  }
  void return_if_rung();
  void launch();

  Device& device_;
  ResidentShape shape_;
  Direction directions_[2];
  std::uint64_t count_;
  std::uint64_t patience_ns_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  SlotBuffer relay_;
  std::uint64_t epoch_ = 0;
  std::uint32_t next_[2] = {0, 0};  // of each direction, at the last launch;
  bool had_bell_ = false;           // whether it was launched for a bell
};

}  // namespace nearpeak
