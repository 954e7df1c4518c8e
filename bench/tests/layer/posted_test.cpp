// SPDX-License-Identifier: Apache-2.0
#include "layer/posted.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using nearpeak::layer::HostMemory;
using nearpeak::layer::Posted;

namespace {
constexpr std::size_t kLong = std::size_t{1} << 20;
}

TEST_CASE("memory that was given back is taken again") {
  Posted posted;
  HostMemory first = posted.take(kLong);
  const char* const where = first.get();
  posted.give_back(std::move(first), kLong);
  CHECK(posted.pieces() == 1);
  const HostMemory again = posted.take(kLong - 1);
  CHECK(again.get() == where);
  CHECK(posted.pieces() == 0);
}

TEST_CASE("neither for more bytes nor for far fewer") {
  Posted posted;
  posted.give_back(posted.take(kLong), kLong);
  const HostMemory more = posted.take(kLong + 1), fewer = posted.take(kLong / 2 - 1);
  CHECK(posted.pieces() == 1);
}

TEST_CASE("short pieces, and more than a limit, are not kept") {
  Posted posted;
  posted.give_back(posted.take(Posted::kLeast - 1), Posted::kLeast - 1);
  posted.give_back(posted.take(Posted::kMost + 1), Posted::kMost + 1);
  CHECK(posted.pieces() == 0);
  std::vector<HostMemory> many;
  for (std::size_t i = 0; i < Posted::kPieces + 1; ++i) many.push_back(posted.take(Posted::kLeast));
  for (HostMemory& each : many) posted.give_back(std::move(each), Posted::kLeast);
  CHECK(posted.pieces() == Posted::kPieces);
  posted.give_back(posted.take(Posted::kMost), Posted::kMost);
  CHECK(posted.pieces() == 1);
}
