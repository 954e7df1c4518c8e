// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace nearpeak {

// Threads that each do their part of the same work at once, whenever it is asked for. The thread
// that asks is the first of them. Threads that wait for work sleep, and some wake long after
// others: so each does something to wake by first, and nobody begins its part before all have done
// that. Neither must throw.
class Crew {
 public:
  using Wake = std::function<void(int member)>;
  using Work = std::function<void(int member, std::uint64_t n)>;

  Crew(int members, Wake wake, Work work)
      : wake_(std::move(wake)),
        work_(std::move(work)),
        members_(static_cast<std::uint64_t>(members)),
        gate_(members) {
    for (int member = 1; member < members; ++member)
      threads_.emplace_back([this, member] { serve(member); });
  }
  ~Crew() {
    over_ = true;
    gate_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Until every member has done its part.
  void run(std::uint64_t n) {
    n_ = n;
    awaited_ += members_;
    gate_.arrive_and_wait();
    do_part(0);
    gate_.arrive_and_wait();
  }

 private:
  void serve(int member) {
    while (true) {
      gate_.arrive_and_wait();
      if (over_) return;
      do_part(member);
      gate_.arrive_and_wait();
    }
  }

  void do_part(int member) {
    wake_(member);
    ++awake_;
    while (awake_ < awaited_) std::this_thread::yield();  // and does not sleep again
    work_(member, n_);
  }

  const Wake wake_;
  const Work work_;
  const std::uint64_t members_;
  std::barrier<> gate_;
  // Written by the first member before the gate opens.
  std::uint64_t n_ = 0;
  std::uint64_t awaited_ = 0;
  bool over_ = false;
  std::atomic<std::uint64_t> awake_{0};  // members, added up over all that was asked for
  std::vector<std::thread> threads_;
};

}  // namespace nearpeak
