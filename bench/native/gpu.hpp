// SPDX-License-Identifier: Apache-2.0
// Two processes of one node, at least one of which has its messages on a GPU. One process issues
// the copies of a direction; flags in host memory that both have mapped tell the other.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "native/process.hpp"
#include "native/team.hpp"

namespace nearpeak {

using BufferKinds = std::array<BufferKind, 2>;  // of rank 0 and of rank 1

// The memory that both processes have, made before they are forked.
struct GpuMemory {
  struct Control {
    Desk desk;
    Counter progress;
    // Of each rank; it alone writes them.
    std::array<Counter, 2> posted;  // rounds in which its messages are ready, or there already
    std::array<Counter, 2> done;    // rounds in which all is over that it has to do
    struct Handles {
      IpcHandle out, in;
    };
    std::array<Handles, 2> handles;  // of each rank's slots, where they are device memory
    std::array<std::uint64_t, 2> cache_bytes;
    std::array<std::array<char, 64>, 2> uuids;  // of each rank's device; empty without one
    // Between the leader's CPU and a kernel: a page of their own, as pages are what is registered.
    struct alignas(4096) Flags {
      Counter asked;
      Counter answered;
    } flags;
    std::array<std::array<char, 512>, 2> reasons;
  };

  // `slot_bytes`: of the slots of an end in host memory, each way; `stage_bytes`: of what messages
  // between two devices may go through, each way. No page is taken before use.
  GpuMemory(std::size_t slot_bytes, std::size_t stage_bytes);

  Control& control() { return *control_; }

  SharedMemory control_memory;
  std::array<SharedMemory, 2> out;  // the slots of each rank whose end is host memory
  std::array<SharedMemory, 2> in;
  std::array<SharedMemory, 2> stage;  // of what each rank sends

 private:
  Control* control_;
};

// The slots of the other end that this end's device copies into or out of.
class PeerSlots {
 public:
  PeerSlots() = default;  // those that this end has no use for
  explicit PeerSlots(std::unique_ptr<OpenedMemory> opened) : opened_(std::move(opened)) {}
  // Slots in host memory that both have mapped.
  PeerSlots(Device& device, char* memory, std::size_t bytes)
      : device_(&device), memory_(memory), bytes_(bytes) {}

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

// Host memory that messages between two devices may go through, one piece for what each rank
// sends, as this end's device calls it.
struct Stages {
  static constexpr std::size_t kBytes = std::size_t{16} << 20;
  std::array<std::unique_ptr<RegisteredMemory>, 2> of;
  std::string why_none;  // or empty

  char* at(int sender) const { return static_cast<char*>(of[sender]->on_device()); }
};

// All that a method has at one end of an exchange.
struct GpuEnd {
  const Exchange& exchange;
  const BufferKinds& kinds;
  GpuMemory& memory;
  Wait wait;
  Device* device;   // null at an end of host memory
  Program* motion;  // the device's motion_kernels(), or null
  std::string why_no_kernels;
  const SlotBuffer& out;
  const SlotBuffer& in;
  PeerSlots& peer_out;
  PeerSlots& peer_in;
  std::string why_unreachable;  // the peer's slots, or empty
  const Stages& stages;

  Counter& posted() const { return memory.control().posted[exchange.rank]; }
  Counter& peer_posted() const { return memory.control().posted[exchange.peer()]; }
  Counter& done() const { return memory.control().done[exchange.rank]; }
  Counter& peer_done() const { return memory.control().done[exchange.peer()]; }
};

struct GpuMethod {
  std::string name;
  // Whether it is one of its own here; the same answer at both ends.
  std::function<bool(const Exchange& exchange, const BufferKinds& kinds)> applies;
  // Why it cannot be used, seen from this end; empty where it can.
  std::function<std::string(const GpuEnd& end)> unavailable;
  std::function<std::unique_ptr<Transfer>(const GpuEnd& end)> make;
};

std::vector<GpuMethod> gpu_copy_methods();    // straight from one memory into the other
std::vector<GpuMethod> gpu_staged_methods();  // through host memory
std::vector<GpuMethod> gpu_methods();         // all: docs/ceilings.md says what they are

const std::vector<Metric>&
gpu_metrics();  // those of pairs, and ipc_open, flag_latency, device_latency

// All that one end has for what no exchange of messages measures.
struct GpuSide {
  Contest& contest;
  SharedTeam& team;
  const CommonOptions& common;
  const BufferKinds& kinds;
  GpuMemory& memory;
  Wait wait;
  Device* device;
  Program* motion;
  const std::string& why_no_kernels;
  // The other end's reason, or one's own, known to both.
  std::function<std::string(const std::string& mine)> told_reason;
};

// Opening a fresh handle of the peer's device memory, by the leader. Nothing where it has no device
// or the peer's memory is not of the kind that is opened.
void run_ipc_open(const GpuSide& side, const Metric& metric, std::size_t bytes);
// A flag from the leader's CPU to a kernel and back.
void run_flag_latency(const GpuSide& side, const Metric& metric);
// Messages between kernels that stay on two GPUs: no launch, no host.
void run_device_latency(const GpuSide& side, const Metric& metric, std::size_t bytes);

struct GpuOptions {
  CommonOptions common;
  std::vector<int> cpus;  // two
  std::vector<std::string>
      devices;          // two: an index or a UUID, with "BACKEND:" in front or without;
                        // "-" for an end of host memory
  std::string buffers;  // "D,D"
  std::vector<Metric> metrics = gpu_metrics();
  bool probe = true;
};

// Returns the exit status. Throws BadInput.
int run_gpu(const GpuOptions& options, const std::vector<GpuMethod>& methods);

}  // namespace nearpeak
