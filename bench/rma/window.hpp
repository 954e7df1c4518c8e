// SPDX-License-Identifier: Apache-2.0
// Memory that a rank opens to its peer as a window of MPI, and the synchronisation of the
// operations on it.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// The axes of all one-sided benchmarks: how the window was made (`win`: --window is the number of
// messages in flight), and how operations are completed (`sync`).
std::vector<Axis> window_axes();

// What a rank does: it calls the operations, its memory is their target, or both.
struct Role {
  bool origin;
  bool target;
};

enum class SyncWay { kFlush, kFlushLocal, kLock, kLockAll, kFence, kPscw };

class RmaWindow {
 public:
  // Every rank opens slots of as many bytes. Collective, as is the destructor. Throws Unfit on all
  // ranks, among others where the buffers, `also_bytes` more of their kind and `scratch_bytes` of
  // the CPU's do not fit into the memory of a host.
  RmaWindow(const CaseContext& context, std::size_t bytes, std::size_t slots, Role role,
            std::size_t also_bytes, std::size_t scratch_bytes = 0);
  ~RmaWindow();
  RmaWindow(const RmaWindow&) = delete;
  RmaWindow& operator=(const RmaWindow&) = delete;

  SlotBuffer& buffer() { return *buffer_; }
  const SlotBuffer& buffer() const { return *buffer_; }
  bool is_origin() const { return role_.origin; }
  bool is_target() const { return role_.target; }
  // Whether the target takes no part in the synchronisation.
  bool is_passive() const { return sync_ != SyncWay::kFence && sync_ != SyncWay::kPscw; }
  int peer() const { return peer_; }
  MPI_Win handle() const { return window_; }
  // The displacement of the peer's slot.
  MPI_Aint place(std::size_t slot) const {
    return peers_first_ + static_cast<MPI_Aint>(slot * buffer_->layout().stride);
  }

  // Before and behind the operations of an iteration. On a target whose part is passive they do
  // nothing.
  void begin() {
    if (sync_ == SyncWay::kLock && role_.origin)
      MPI_Win_lock(MPI_LOCK_SHARED, peer_, 0, window_);
    else if (sync_ == SyncWay::kLockAll && role_.origin)
      MPI_Win_lock_all(0, window_);
    else if (sync_ == SyncWay::kPscw)
      post_and_start();
  }
  void end() {
    if (is_passive() && !role_.origin) return;
    switch (sync_) {
      case SyncWay::kFlush:
        MPI_Win_flush(peer_, window_);
        return;
      case SyncWay::kFlushLocal:
        MPI_Win_flush_local(peer_, window_);
        return;
      case SyncWay::kLock:
        MPI_Win_unlock(peer_, window_);
        return;
      case SyncWay::kLockAll:
        MPI_Win_unlock_all(window_);
        return;
      case SyncWay::kFence:
        MPI_Win_fence(0, window_);
        return;
      case SyncWay::kPscw:
        complete_and_wait();
    }
  }

  // What the owner has written into the window may be reached from now on. Collective.
  void open();
  // Until what was done to the window may be looked at by its owner. Collective. Only flush_local
  // leaves something to be completed: all else must be there.
  void settle() const;

 private:
  void make(const CaseContext& context, std::size_t bytes, std::size_t slots);
  void post_and_start();
  void complete_and_wait();
  // That of memory which both the owner and its peer have written.
  void synchronise_memory() const;

  const Role role_;
  const SyncWay sync_;
  const std::string how_;
  Group& group_;
  const int peer_;
  MPI_Group peers_group_ = MPI_GROUP_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Aint peers_first_ = 0;
  bool locked_ = false;  // for as long as there is the window
  std::unique_ptr<Memory> librarys_memory_;
  std::unique_ptr<SlotBuffer> buffer_;
};

}  // namespace nearpeak
