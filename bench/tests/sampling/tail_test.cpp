// SPDX-License-Identifier: Apache-2.0
#include "sampling/tail.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace nearpeak;

TEST_CASE("quantiles of many times are right within a bucket") {
  Tail tail;
  for (int ns = 1; ns <= 100000; ++ns) tail.add(ns);
  CHECK(tail.count() == 100000);
  CHECK(tail.longest_us() == 100);
  for (const double fraction : {0.0, 0.5, 0.9, 0.99, 0.999, 1.0})
    CHECK(tail.quantile_us(fraction) == doctest::Approx(100 * fraction).epsilon(0.01));
}

TEST_CASE("one time in a thousand is the tail, and not the middle") {
  Tail tail;
  for (int i = 0; i < 9989; ++i) tail.add(1000);
  for (int i = 0; i < 11; ++i) tail.add(50000);
  CHECK(tail.quantile_us(0.99) == doctest::Approx(1).epsilon(0.01));
  CHECK(tail.quantile_us(0.999) == doctest::Approx(50).epsilon(0.01));
}

TEST_CASE("short times have a bucket each, and the longest has one") {
  Tail tail;
  CHECK(tail.quantile_us(0.5) == 0);
  tail.add(-1);
  CHECK(tail.quantile_us(1) == 0);
  tail.add(63);
  CHECK(tail.quantile_us(1) == 0.063);
  tail.add(64);
  CHECK(tail.quantile_us(1) == 0.064);
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();
  tail.add(kLongest);
  CHECK(tail.quantile_us(1) == doctest::Approx(static_cast<double>(kLongest) / 1e3).epsilon(0.01));
}
