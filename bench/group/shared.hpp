// SPDX-License-Identifier: Apache-2.0
// Processes of one host that meet in memory which they share.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "accel/memory.hpp"
#include "group/group.hpp"

namespace nearpeak {

// A counter that one process writes and others watch. Two cache lines, as processors fetch lines in
// pairs.
struct alignas(128) Counter {
  std::atomic<std::uint64_t> value{0};

  void tell(std::uint64_t now) { value.store(now, std::memory_order_release); }
  std::uint64_t told() const { return value.load(std::memory_order_acquire); }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline void cpu_relax() {
#if defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// How a process waits for another.
enum class Wait {
  kPause,  // busily, with the processor's hint, which saves power and serves the core's other
           // thread
  kSpin,   // busily, without it: a hint may take longer than a message
  kYield   // by giving up the CPU, which the other may need
};

inline void wait_once(Wait wait) {
  if (wait == Wait::kPause) cpu_relax();
  if (wait == Wait::kYield) sched_yield();
}
template <class Ready>
void wait_until(Wait wait, Ready ready) {
  while (!ready()) wait_once(wait);
}

// Anonymous memory that the processes forked after it share; nothing of it outlives them. Pages
// are taken when they are first written, on the writer's NUMA node, large ones where the kernel
// gives them.
class SharedMemory final : public HostReachable {
 public:
  explicit SharedMemory(std::size_t bytes);  // throws std::bad_alloc
  ~SharedMemory() override;
  SharedMemory(SharedMemory&& other) noexcept : bytes_(other.bytes_), data_(other.data_) {
    other.data_ = nullptr;
  }

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // The receiver's node has the memory that it polls.
  void touch();

  // All of it serves one SlotBuffer at a time.
  void* allocate(std::size_t bytes) override;
  void release(void*) override {}

 private:
  std::size_t bytes_;
  char* data_;
};

class SharedGroup final : public Group {
 public:
  // What the members meet in: of all zeros before the first comes.
  struct Member {
    static constexpr std::size_t kPiece = 8192;
    Counter met;               // collective calls in which this member has done its part
    char pieces[2][kPiece]{};  // what it says in them, in turn
  };
  static std::size_t memory_bytes(int size) { return sizeof(Member) * static_cast<unsigned>(size); }

  SharedGroup(void* memory, int rank, int size, Wait wait)
      : members_(static_cast<Member*>(memory)), rank_(rank), size_(size), wait_(wait) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Wait wait() const { return wait_; }
  void barrier() override;
  void broadcast(void* data, std::size_t bytes) override;
  void gather(const void* mine, std::size_t bytes, void* all) override;
  using Group::broadcast;
  using Group::gather;

 private:
  char* piece(int rank) const { return members_[rank].pieces[round_ % 2]; }
  template <class Say>
  void meet(Say say);

  Member* members_;
  int rank_;
  int size_;
  Wait wait_;
  std::uint64_t round_ = 0;
};

}  // namespace nearpeak
