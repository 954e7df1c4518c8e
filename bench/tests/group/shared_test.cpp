// SPDX-License-Identifier: Apache-2.0
#include "group/shared.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <set>

#include "tests/group/groups.hpp"
#include "tests/programs/native/quiet.hpp"

using namespace nearpeak;

TEST_CASE("processes of one host meet in shared memory") {
  for (const int size : {2, 3, 5})
    CHECK(in_group(size, [&](SharedGroup& group) {
            return why_no_group(group, size).empty() ? kGood : kFailed;
          }) == kGood);
}

TEST_CASE("in every step each rank is another one's turn") {
  for (const int size : {1, 2, 5})
    CHECK(in_group(size, [&](SharedGroup& group) {
            const std::vector<int> mine = group.others();
            if (mine.size() + 1 != static_cast<std::size_t>(size)) return kFailed;
            for (const int rank : mine) {
              const std::vector<int> all = group.gather(rank);
              if (rank == group.rank() ||
                  std::set<int>(all.begin(), all.end()).size() != all.size())
                return kFailed;
            }
            return kGood;
          }) == kGood);
}

TEST_CASE("nobody leaves a barrier of shared memory before all have come") {
  SharedMemory memory(sizeof(Counter));
  auto* come = new (memory.data()) Counter;
  CHECK(in_group(3, [&](SharedGroup& group) {
          for (std::uint64_t i = 1; i <= 300; ++i) {
            if (i % 3 == static_cast<std::uint64_t>(group.rank())) usleep(50);
            ++come->value;
            group.barrier();
            if (come->told() < 3 * i) return kFailed;
            group.barrier();
          }
          return kGood;
        }) == kGood);
}

TEST_CASE("a member that dies or hangs ends its group") {
  for (const int rank : {0, 1, 2}) {
    CHECK(in_group(3, [&](SharedGroup& group) -> int {
            if (group.rank() == rank) raise(SIGKILL);
            while (true) group.barrier();
          }) == kFailed);
    CHECK(in_group(
              3,
              [&](SharedGroup& group) -> int {
                if (group.rank() == rank) pause();
                while (true) group.barrier();
              },
              0.1) == kFailed);
  }
}

TEST_CASE("shared memory holds one buffer at a time") {
  SharedMemory memory(4096);
  CHECK(memory.allocate(4096) == memory.data());
  CHECK_THROWS_AS(memory.allocate(4097), std::bad_alloc);
}
