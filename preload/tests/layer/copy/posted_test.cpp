// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/posted.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using nearpeak::layer::Posted;
using nearpeak::layer::PostedPiece;

namespace {
constexpr std::size_t kLong = std::size_t{1} << 20;
}

TEST_CASE("memory that was given back is taken again, with the length that it has") {
  Posted posted;
  PostedPiece first = posted.take(kLong);
  const char* const where = first.memory.get();
  posted.give_back(std::move(first));
  CHECK(posted.pieces() == 1);
  PostedPiece again = posted.take(kLong / 2);
  CHECK(again.memory.get() == where);
  CHECK(again.bytes == kLong);
  CHECK(posted.pieces() == 0);
}

TEST_CASE("neither for more bytes nor for far fewer") {
  Posted posted;
  posted.give_back(posted.take(kLong));
  const PostedPiece more = posted.take(kLong + 1), fewer = posted.take(kLong / 2 - 1);
  CHECK(posted.pieces() == 1);
}

TEST_CASE("short pieces, and more than a limit, are not kept") {
  Posted posted;
  posted.give_back(posted.take(Posted::kLeast - 1));
  posted.give_back(posted.take(Posted::kMost + 1));
  CHECK(posted.pieces() == 0);
  std::vector<PostedPiece> many;
  for (std::size_t i = 0; i < Posted::kPieces + 1; ++i) many.push_back(posted.take(Posted::kLeast));
  for (PostedPiece& each : many) posted.give_back(std::move(each));
  CHECK(posted.pieces() == Posted::kPieces);
  posted.give_back(posted.take(Posted::kMost));
  CHECK(posted.pieces() == 1);
}
