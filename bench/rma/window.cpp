// SPDX-License-Identifier: Apache-2.0
#include "rma/window.hpp"

#include <map>

#include "benchmark/check_memory.hpp"
#include "mpi/errors.hpp"
#include "mpi/mpi_group.hpp"

namespace nearpeak {
namespace {

constexpr const char* kWin = "win";
constexpr const char* kSync = "sync";
constexpr const char* kCreated = "created";
constexpr const char* kAllocated = "allocated";
constexpr const char* kDynamic = "dynamic";
constexpr const char* kShared = "shared";
constexpr std::size_t kPage = 4096;

SyncWay sync_of(const CaseContext& context) {
  static const std::map<std::string, SyncWay> ways{
      {"flush", SyncWay::kFlush}, {"flush_local", SyncWay::kFlushLocal},
      {"lock", SyncWay::kLock},   {"lock_all", SyncWay::kLockAll},
      {"fence", SyncWay::kFence}, {"pscw", SyncWay::kPscw}};
  return ways.at(context.axis(kSync));
}

// Memory that the library has allocated, and frees with its window.
class LibraryMemory final : public HostReachable {
 public:
  explicit LibraryMemory(void* memory) : memory_(memory) {}
  void* allocate(std::size_t) override { return memory_; }
  void release(void*) override {}

 private:
  void* memory_;
};

void* next_page(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((address + kPage - 1) / kPage * kPage);
}

bool share_a_host(MPI_Comm comm) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int near = 0;
  int all = 0;
  MPI_Comm_size(here, &near);
  MPI_Comm_size(comm, &all);
  MPI_Comm_free(&here);
  return near == all;
}

bool is_librarys(const std::string& how) { return how == kAllocated || how == kShared; }

// Throws Unfit on all ranks.
void check_window(const CaseContext& context) {
  const std::string& how = context.axis(kWin);
  const bool other = is_librarys(how) && context.kind != BufferKind::kHost;
  std::string why = context.group.first_reason(
      other ? "the memory of a window that is " + how +
                  " is the library's own, on the host: give --buffers H, or --win created"
            : "");
  if (why.empty() && how == kShared &&
      !context.group.everywhere(share_a_host(comm_of(context.group))))
    why = "ranks on several hosts share no memory: choose another --win";
  if (!why.empty()) throw Unfit(why);
}

}  // namespace

std::vector<Axis> window_axes() {
  return {{kWin,
           {kAllocated, kCreated, kDynamic, kShared},
           "the window: MPI_Win_allocate; MPI_Win_create of a buffer; MPI_Win_create_dynamic and "
           "MPI_Win_attach of a buffer; MPI_Win_allocate_shared. The first and the last are for "
           "--buffers H; the default of others is created",
           {kAllocated, kShared},
           {kAllocated, kCreated}},
          {kSync,
           {"flush", "flush_local", "lock", "lock_all", "fence", "pscw"},
           "what ends an iteration; flush: MPI_Win_flush, under one MPI_Win_lock_all; flush_local: "
           "MPI_Win_flush_local, which does not wait for the target's memory; lock: MPI_Win_lock "
           "before and MPI_Win_unlock after; lock_all: the same for all ranks; fence: "
           "MPI_Win_fence; pscw: post, start, complete and wait"}};
}

RmaWindow::RmaWindow(const CaseContext& context, std::size_t bytes, std::size_t slots, Role role,
                     std::size_t also_bytes, std::size_t scratch_bytes)
    : role_(role),
      sync_(sync_of(context)),
      how_(context.axis(kWin)),
      group_(context.group),
      peer_(1 - context.group.rank()) {
  check_window(context);
  check_memory(context, {.all = SlotBuffer::stride(bytes) * slots + context.offset + also_bytes,
                         .scratch = scratch_bytes});
  make(context, bytes, slots);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Win_get_group(window_, &all);
  MPI_Group_incl(all, 1, &peer_, &peers_group_);
  MPI_Group_free(&all);
}

void RmaWindow::make(const CaseContext& context, std::size_t bytes, std::size_t slots) {
  const MPI_Comm comm = comm_of(group_);
  const std::size_t whole = SlotBuffer::stride(bytes) * slots;
  void* begin = nullptr;  // where displacements count from
  if (is_librarys(how_)) {
    const auto wanted = static_cast<MPI_Aint>(whole + context.offset + kPage);
    if (how_ == kShared)
      MPI_Win_allocate_shared(wanted, 1, MPI_INFO_NULL, comm, &begin, &window_);
    else
      MPI_Win_allocate(wanted, 1, MPI_INFO_NULL, comm, &begin, &window_);
    librarys_memory_ = std::make_unique<LibraryMemory>(next_page(begin));
  }
  Memory& memory = librarys_memory_ ? *librarys_memory_ : context.memory;
  on_every_rank(group_, [&] {
    buffer_ = std::make_unique<SlotBuffer>(memory, bytes, slots, context.offset);
  });
  char* const first = buffer_->slot(0);
  if (how_ == kCreated) {
    begin = first;
    MPI_Win_create(first, static_cast<MPI_Aint>(whole), 1, MPI_INFO_NULL, comm, &window_);
  }
  MPI_Aint mine = first - static_cast<char*>(begin);
  if (how_ == kDynamic) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window_);
    MPI_Win_attach(window_, first, static_cast<MPI_Aint>(whole));
    MPI_Get_address(first, &mine);
  }
  watch_errors(window_);
  peers_first_ = group_.gather(mine)[static_cast<std::size_t>(peer_)];
}

RmaWindow::~RmaWindow() {
  if (locked_) MPI_Win_unlock_all(window_);
  if (how_ == kDynamic) {
    group_.barrier();  // nobody reaches it any more
    MPI_Win_detach(window_, buffer_->slot(0));
  }
  MPI_Group_free(&peers_group_);
  MPI_Win_free(&window_);
}

void RmaWindow::post_and_start() {
  if (role_.target) MPI_Win_post(peers_group_, 0, window_);
  if (role_.origin) MPI_Win_start(peers_group_, 0, window_);
}

void RmaWindow::complete_and_wait() {
  if (role_.origin) MPI_Win_complete(window_);
  if (role_.target) MPI_Win_wait(window_);
}

void RmaWindow::synchronise_memory() const {
  if (locked_) {
    MPI_Win_sync(window_);
    return;
  }
  MPI_Win_lock(MPI_LOCK_SHARED, group_.rank(), 0, window_);
  MPI_Win_unlock(group_.rank(), window_);
}

void RmaWindow::open() {
  if (sync_ == SyncWay::kFence) MPI_Win_fence(0, window_);
  if (!is_passive()) return;
  if (!locked_ && (sync_ == SyncWay::kFlush || sync_ == SyncWay::kFlushLocal)) {
    MPI_Win_lock_all(0, window_);
    locked_ = true;
  }
  synchronise_memory();
}

void RmaWindow::settle() const {
  if (!is_passive()) return;
  if (sync_ == SyncWay::kFlushLocal) {
    MPI_Win_flush_all(window_);
    group_.barrier();
  }
  synchronise_memory();
}

}  // namespace nearpeak
