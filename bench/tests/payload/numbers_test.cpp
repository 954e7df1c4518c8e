// SPDX-License-Identifier: Apache-2.0
#include "payload/numbers.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace nearpeak;

TEST_CASE_TEMPLATE("sums of any order are exact, and a wrong one is found", T, int, float, double) {
  constexpr std::size_t kCount = 100;
  constexpr int kRanks = 5;
  for (const std::uint64_t round : {0u, 1u, 8u}) {
    std::vector<T> sum(kCount);
    for (int rank = kRanks - 1; rank >= 0; --rank) {
      std::vector<T> mine(kCount);
      fill_numbers<T>(mine.data(), kCount, rank, round);
      for (std::size_t i = 0; i < kCount; ++i) sum[i] += mine[i];
    }
    CHECK_FALSE(find_wrong_sum<T>(sum.data(), kCount, kRanks, round));
    CHECK(find_wrong_sum<T>(sum.data(), kCount, kRanks, round + 1));
    CHECK(find_wrong_sum<T>(sum.data(), kCount, kRanks - 1, round));
    sum[kCount - 1] += 1;
    const auto wrong = find_wrong_sum<T>(sum.data(), kCount, kRanks, round);
    REQUIRE(wrong);
    CHECK(wrong->byte / sizeof(T) == kCount - 1);
  }
}
