// SPDX-License-Identifier: Apache-2.0
// Transports between processes of one host of which at least one has its messages on a GPU. Each is
// one file that registers itself; docs/methods/ceilings.md says what they are.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "group/shared.hpp"
#include "transport/open_messages.hpp"
#include "transport/transport.hpp"

namespace nearpeak {

// The memory of one rank that all ranks have, made before they are forked.
class GpuMemory {
 public:
  struct Control {
    // What each transport makes of them; this rank alone writes them, and sets them to 0 when a
    // transport is made.
    Counter posted;  // messages that it sends
    Counter taken;   // what it has received
    IpcHandle out;   // its slots, where they are device memory
    IpcHandle in;
    std::array<char, 64> uuid{};   // of its device; empty without one
    unsigned multiprocessors = 0;  // likewise, where it has kernels
  };

  // `slot_bytes`: of its slots where they are host memory, each way; `stage_bytes`: of what its
  // messages to another device may go through. No page is taken before use.
  GpuMemory(std::size_t slot_bytes, std::size_t stage_bytes);

  Control& control() const { return *control_; }

  SharedMemory out;
  SharedMemory in;
  SharedMemory stage;
  SharedMemory queue;  // of a resident kernel, for what it sends

 private:
  SharedMemory control_memory_;
  Control* control_;
};

// The slots of the other end that this end's device copies into or out of.
class PeerSlots {
 public:
  PeerSlots() = default;  // those that this end has no use for
  // Of another process's device. Throws AcceleratorError, std::bad_alloc.
  PeerSlots(Device& device, const IpcHandle& handle);
  // In host memory that both have mapped.
  PeerSlots(Device& device, SharedMemory& memory, std::size_t bytes);

  // As the device calls them. Host memory is pinned first, or let go again: what does not need
  // that is to find it as its owner made it. Throws AcceleratorError.
  char* address(bool registered);

 private:
  std::unique_ptr<OpenedMemory> opened_;
  Device* device_ = nullptr;
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::unique_ptr<RegisteredMemory> registered_;
};

// Host memory that messages between two devices may go through: what this rank sends, and what its
// peer does, as this end's device calls them.
struct Stages {
  static constexpr std::size_t kBytes = std::size_t{16} << 20;
  std::unique_ptr<RegisteredMemory> own;
  std::unique_ptr<RegisteredMemory> peer;
  std::string why_none;  // or empty
};

// All that a transport has at one end.
struct GpuEnd {
  const Messages& messages;
  BufferKind kind;
  BufferKind peer_kind;
  GpuMemory& own;
  GpuMemory& peer;
  Wait wait;
  Device* device;   // null at an end of host memory
  Program* motion;  // the device's kernels that move data, or null
  std::string why_no_kernels;
  const SlotBuffer& out;
  const SlotBuffer& in;
  std::size_t stride;  // from slot to slot, at both ends
  PeerSlots& peer_out;
  PeerSlots& peer_in;
  std::string why_unreachable;  // the peer's slots, or empty
  const Stages& stages;

  bool both_on_devices() const { return on_device(kind) && on_device(peer_kind); }
  // Nothing may be left of the transport before; nobody sends before a barrier.
  void reset() const;
};

struct GpuMethod {
  std::string name;
  // Whether it is one of its own here; the same answer at both ends.
  std::function<bool(const GpuEnd&)> applies;
  // Why it cannot be used, seen from this end; empty where it can.
  std::function<std::string(const GpuEnd&)> unavailable;
  std::function<std::unique_ptr<Transport>(const GpuEnd&)> make;
  std::vector<std::string> needs = {};  // as Method has it
};

// A static object of this type in a transport's file makes it known.
struct RegisterGpuMethod {
  explicit RegisterGpuMethod(GpuMethod method);
};

std::vector<GpuMethod> gpu_methods();  // by name

}  // namespace nearpeak
