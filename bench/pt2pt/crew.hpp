// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace nearpeak {

// Threads that each do their part of the same work at once, whenever it is asked for. The thread
// that asks is the first of them. The work must not throw.
class Crew {
 public:
  using Work = std::function<void(int member, std::uint64_t n)>;

  Crew(int members, Work work) : work_(std::move(work)), gate_(members) {
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
    gate_.arrive_and_wait();
    work_(0, n);
    gate_.arrive_and_wait();
  }

 private:
  void serve(int member) {
    while (true) {
      gate_.arrive_and_wait();
      if (over_) return;
      work_(member, n_);
      gate_.arrive_and_wait();
    }
  }

  const Work work_;
  std::barrier<> gate_;
  std::uint64_t n_ = 0;  // as `over_`, written by the first member before the gate opens
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nearpeak
