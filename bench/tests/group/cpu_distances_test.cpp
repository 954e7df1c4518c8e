// SPDX-License-Identifier: Apache-2.0
#include "group/cpu_distances.hpp"

#include <doctest/doctest.h>

#include "tests/native/quiet.hpp"

using namespace nearpeak;

TEST_CASE("neighbouring processes of one host tell how far their CPUs are from each other") {
  for (const int size : {2, 3, 4}) {
    CHECK(in_group(size, [&](SharedGroup& group) {
            CpuDistances distances(group);
            for (int round = 0; round < 3; ++round) {
              const auto found = distances.measure();
              if (found.size() != static_cast<std::size_t>(size - 1)) return kFailed;
              for (const auto& one : found) {
                if (one && (*one < 1 || *one > 2e7)) return kFailed;
                if (group.broadcast(one.value_or(0)) != one.value_or(0)) return kFailed;
              }
            }
            return kGood;
          }) == kGood);
  }
}

TEST_CASE("one process alone is not far from anything") {
  Alone alone;
  CHECK(CpuDistances(alone).measure().empty());
}
