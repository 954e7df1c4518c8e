// SPDX-License-Identifier: Apache-2.0
#include "pt2pt/crew.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>

using namespace nearpeak;

TEST_CASE("every member of a crew does its part, each time, in a thread of its own") {
  for (const int members : {1, 2, 4}) {
    std::array<std::uint64_t, 4> done{};
    std::array<std::thread::id, 4> threads{};
    {
      Crew crew(members, [&](int member, std::uint64_t n) {
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
