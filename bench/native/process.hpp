// SPDX-License-Identifier: Apache-2.0
// Processes of one node that measure together: their memory, CPUs and end.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "accel/memory.hpp"
#include "native/team.hpp"

namespace nearpeak {

// Throws BadInput where this process may not use one of the CPUs.
void check_cpus(const std::vector<int>& cpus);

// Binds the calling thread to one CPU and looks whether it came to be. Memory that it writes first
// from now on is on that CPU's NUMA node. Throws std::runtime_error.
void bind_to_cpu(int cpu);

// Anonymous memory that the processes forked after it share; nothing of it outlives them. Pages
// are taken when they are first written, on the writer's NUMA node.
class SharedMemory final : public HostReachable {
 public:
  explicit SharedMemory(std::size_t bytes);  // throws std::bad_alloc
  ~SharedMemory() override;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // All of it serves one SlotBuffer at a time.
  void* allocate(std::size_t bytes) override;
  void release(void*) override {}

 private:
  std::size_t bytes_;
  char* data_;
};

// A counter that one process writes and another watches. Two cache lines, as processors fetch
// lines in pairs.
struct alignas(128) Counter {
  std::atomic<std::uint64_t> value{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline void cpu_relax() {
#if defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// How a process waits for another: busily, or, where both have only one CPU, by yielding it.
struct Wait {
  bool yield = false;

  void once() const {
    if (yield)
      sched_yield();
    else
      cpu_relax();
  }
  template <class Ready>
  void until(Ready ready) const {
    while (!ready()) once();
  }
};

// What two forked processes agree through; lives in memory that they share.
struct Desk {
  static constexpr std::size_t kMostText = 1 << 17;
  Counter asked;
  Counter answered;
  std::uint64_t value = 0;
  std::size_t text_bytes = 0;
  char text[kMostText];
};

class SharedTeam final : public Team {
 public:
  SharedTeam(Desk& desk, int rank, Wait wait) : desk_(desk), rank_(rank), wait_(wait) {}
  int rank() const override { return rank_; }
  std::uint64_t agree(std::uint64_t value) override;
  std::string tell_leader(const std::string& text) override;

 private:
  Desk& desk_;
  int rank_;
  Wait wait_;
  std::uint64_t round_ = 0;
};

// Runs body(0) to body(count - 1), each in a forked process that ends with its parent, and waits
// for them. When one fails or dies the others are ended. `progress` is in shared memory: when it
// has not changed for `stall_s` seconds all are ended. Returns kGood, or what a process returned,
// or kFailed, with one line on stderr that says why.
int run_processes(int count, const std::atomic<std::uint64_t>& progress, double stall_s,
                  const std::function<int(int)>& body);

}  // namespace nearpeak
