// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/host_memory.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using nearpeak::layer::host_memory_of;
using nearpeak::layer::kLeastKept;
using nearpeak::layer::kMostKept;
using nearpeak::layer::kPiecesKept;
using nearpeak::layer::pieces_kept;

namespace {

// A length that no other test takes, as what is kept is for all; in whole large pages.
constexpr std::size_t kLong = std::size_t{4} << 20;

const char* given_back(std::size_t bytes) { return host_memory_of(bytes).get(); }

}  // namespace

TEST_CASE("host memory that was given back is taken again, with the length that it has") {
  const char* const where = given_back(kLong);
  const std::size_t before = pieces_kept();
  const nearpeak::layer::HostMemory again = host_memory_of(kLong / 2);
  CHECK(again.get() == where);
  CHECK(again.get_deleter().bytes == kLong);
  CHECK(pieces_kept() == before - 1);
}

TEST_CASE("host memory is taken again neither for more bytes nor for far fewer") {
  const char* const where = given_back(kLong);
  const nearpeak::layer::HostMemory more = host_memory_of(kLong + 1),
                                    fewer = host_memory_of(kLong / 2 - 1);
  CHECK(more.get() != where);
  CHECK(fewer.get() != where);
}

TEST_CASE("host memory that is short, too long or too much is not kept") {
  given_back(kMostKept);  // which drops all other long ones
  const std::size_t before = pieces_kept();
  given_back(kLeastKept - 1);
  given_back(kMostKept + 1);
  CHECK(pieces_kept() == before);
  std::vector<nearpeak::layer::HostMemory> many(kPiecesKept + 1);
  for (auto& each : many) each = host_memory_of(kLeastKept);
  many.clear();
  CHECK(pieces_kept() == kPiecesKept + 1);  // the long one is still there
}
