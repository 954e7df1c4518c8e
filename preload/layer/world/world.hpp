// SPDX-License-Identifier: Apache-2.0
// What the layer knows of this rank and of the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "calls/real.hpp"
#include "layer/copy/copy_helpers.hpp"
#include "layer/copy/default_stream.hpp"
#include "layer/copy/devices.hpp"
#include "layer/copy/file_server.hpp"
#include "layer/copy/pieces.hpp"
#include "layer/copy/pinned_cache.hpp"
#include "layer/copy/process.hpp"
#include "layer/datatype/types.hpp"
#include "layer/world/envelope.hpp"
#include "layer/world/routes.hpp"
#include "layer/world/settings.hpp"
#include "layer/world/slots.hpp"
#include "layer/world/slow_sends.hpp"

namespace nearpeak::layer {

// Messages with a buffer on a device, for the report.
struct Counts {
  std::uint64_t envelope_sends = 0;     // sent by an envelope,
  std::uint64_t set_aside_sends = 0;    // of these set aside,
  std::uint64_t copied_sends = 0;       // and from a copy on the device
  std::uint64_t staged_sends = 0;       // sent through host memory,
  std::uint64_t chunked_sends = 0;      // of these in parts
  std::uint64_t envelope_receives = 0;  // received by an envelope
  std::uint64_t batched_receives = 0;   // of these copied in batches,
  std::uint64_t batches = 0;            // in so many
  std::uint64_t staged_receives = 0;    // received through host memory
  std::uint64_t chunked_receives = 0;   // received in parts, also into host memory

  std::uint64_t direct_collectives = 0;  // collectives between devices,
  std::uint64_t copied_collectives = 0;  // of these with a copy on the device
  std::uint64_t shadowed_calls = 0;
  std::uint64_t window_accesses = 0;  // to memory of devices, by windows

  std::uint64_t served_requests = 0;     // copies for others of the GPU,
  std::uint64_t proxied_copies = 0;      // by another one for this rank,
  std::uint64_t withdrawn_requests = 0;  // and of this rank's, for which it came too late

  bool operator==(const Counts&) const = default;
};

// What other ranks try to open.
struct Trial {
  Scratch memory;
  Scratch chunk;
  ShownChunks::Kept kept;  // they may open the chunk while this is there
};

struct World {
  bool on = false;        // written in MPI_Init and MPI_Finalize alone
  bool ended = false;     // it was on
  bool multiple = false;  // several threads may call MPI at once
  // Whether others may send envelopes to this rank.
  std::atomic<bool> accepts_envelopes{false};
  bool gives_room = false;  // short_receives.hpp; where several threads may call MPI, it stays so
  Settings settings;
  Nonce nonce{};
  int rank = 0;
  int size = 1;
  std::vector<std::unique_ptr<Area>> areas;         // by rank; null: of another machine
  std::vector<std::unique_ptr<Process>> processes;  // by rank, where there is an area
  bool mapped = false;                              // all of this machine
  bool far = false;                                 // some rank shares no memory with this one
  std::unique_ptr<FileServer> file_server;          // where ranks of this machine have no numbers
  // By rank: one of this kernel that shares no memory with this one, in another container. And why.
  std::vector<bool> apart;
  Hindrance why_apart = Hindrance::kNoMeeting;
  // By rank, alike on all: the first rank of the same machine; -1: it shares no memory, or has no
  // driver of GPUs.
  std::vector<int> machines;
  MPI_Comm own{};       // this rank alone
  MPI_Request never{};  // a receive there that gets nothing
  MPI_Comm everyone{};  // all ranks, for the layer alone
  Devices devices;
  DefaultStream default_stream;
  PinnedCache pinned{devices};
  std::unique_ptr<CopyHelpers> copy_helpers;
  std::map<int, std::unique_ptr<Pieces>> pieces;  // by device
  int home = 0;  // the device that opens the memory of other ranks, where it accepts envelopes
  Trial trial;   // (opening.hpp)
  FreeSlots free_slots;
  Counts counts;
  Routes routes;
  SlowSends slow_sends;
  std::recursive_mutex mutex;

  Area& area() const { return *areas[static_cast<std::size_t>(rank)]; }
};
// Never destroyed: threads may call MPI while the program ends.
extern World& world;

// Of a rank of this machine.
inline Area& area_of(int rank) { return *world.areas[static_cast<std::size_t>(rank)]; }
inline const Process& process_of_rank(int rank) {
  return *world.processes[static_cast<std::size_t>(rank)];
}
// `what(rank, area)` of each other one.
template <typename What>
void each_other(const What& what) {
  for (int rank = 0; rank < world.size; ++rank)
    if (rank != world.rank && world.areas[static_cast<std::size_t>(rank)])
      what(rank, area_of(rank));
}

// Who holds it has all of the layer's for itself; where one thread calls MPI it is nothing.
class Guard {
 public:
  Guard() : locked_(world.multiple) {
    if (locked_) world.mutex.lock();
  }
  ~Guard() {
    if (locked_) world.mutex.unlock();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  const bool locked_;
};

// A line on standard error.
void say(const std::string& line);
// The job ends with this code.
[[noreturn]] void abort_job(int code);
// The same behind a line: what comes after would be wrong data or a hang.
[[noreturn]] void end_job(const std::string& line);
// Calls the error handler of a communicator, or of MPI_COMM_WORLD; returns the error.
int raise(MPI_Comm comm, int error);
// The call is not done with these buffers: says so. Who calls raises the error.
void refuse(const char* call, const char* what);

// Who copies for a message from here on, for the report.
class Copies {
 public:
  // It went so.
  void note(End end, Route route, std::size_t bytes) const;

 private:
  static std::uint64_t by_kernels() {
    if (!world.settings.by_length) return 0;
    return world.devices.carried() + world.devices.moved_by_kernel();
  }
  const std::uint64_t by_kernels_ = by_kernels();
  const std::uint64_t proxied_copies_ = world.counts.proxied_copies;
};

// Where what lies in this span from a buffer on is: all of it on one device, or none. Throws
// std::runtime_error where it is neither.
Found find_span(const void* buffer, const Span& span);
// The same of n elements of a type.
inline Found find(const void* data, MPI_Count n, MPI_Datatype type) {
  if (!types_stray() || n <= 0 || type == calls::datatype_null()) return world.devices.find(data);
  const Type& of = type_of(type);
  return of.dense ? world.devices.find(data) : find_span(data, span_of(n, type));
}

// The rank in MPI_COMM_WORLD of one of a communicator; -1 where it has none there.
int world_rank(MPI_Comm comm, int rank);
void forget_comm(MPI_Comm comm);

}  // namespace nearpeak::layer
