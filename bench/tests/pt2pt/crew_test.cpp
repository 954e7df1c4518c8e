// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/crew.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <set>

using namespace nearpeak;

TEST_CASE("every member of a crew does its part, each time, in a thread of its own") {
  for (const int members : {1, 2, 4}) {
    std::array<std::uint64_t, 4> done{};
    std::array<std::thread::id, 4> threads{};
    {
      Crew crew(
          members, [](int) {},
          [&](int member, std::uint64_t n) {
            done[static_cast<std::size_t>(member)] += n;
            threads[static_cast<std::size_t>(member)] = std::this_thread::get_id();
          });
      for (int member = 0; member < members; ++member) CHECK(done[member] == 0);
      crew.run(3);
      for (int member = 0; member < members; ++member) CHECK(done[member] == 3);
      crew.run(4);
    }
    for (int member = 0; member < members; ++member) CHECK(done[member] == 7);
    CHECK(threads[0] == std::this_thread::get_id());
    CHECK(std::set(threads.begin(), threads.begin() + members).size() == members);
  }
}

TEST_CASE("nobody in a crew begins its part before all are awake, each time") {
  constexpr int kMembers = 4;
  std::atomic<int> awake{0};
  std::atomic<int> early{0};
  std::uint64_t runs = 0;
  Crew crew(
      kMembers,
      [&](int member) {
        if (member == static_cast<int>(runs % kMembers))  // it wakes late
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ++awake;
      },
      [&](int, std::uint64_t) {
        if (awake < kMembers) ++early;
      });
  for (; runs < 2 * kMembers; ++runs) {
    awake = 0;
    crew.run(1);
  }
  CHECK(early == 0);
}
