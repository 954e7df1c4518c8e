// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/landing_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "tests/accel/fake.hpp"

namespace nearpeak::layer {
namespace {

constexpr std::size_t kLongest = LandingMemory::kMostOfPiece;
constexpr std::size_t kLongestPieces = LandingMemory::kBytes / kLongest;

std::vector<HostMemory> take_all(LandingMemory& landing, std::size_t bytes) {
  std::vector<HostMemory> pieces;
  for (HostMemory piece = landing.take(bytes); piece; piece = landing.take(bytes))
    pieces.push_back(std::move(piece));
  return pieces;
}

}  // namespace

TEST_CASE("landing memory: pieces do not overlap, and hold what was asked for") {
  LandingMemory landing;
  std::vector<HostMemory> pieces;
  unsigned char mark = 0;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{65},
                                  std::size_t{4097}, std::size_t{65536}, kLongest})
    for (int i = 0; i < 20; ++i) {
      HostMemory& piece = pieces.emplace_back(landing.take(bytes));
      REQUIRE(piece);
      CHECK(piece.get_deleter().bytes >= bytes);
      CHECK(piece.get_deleter().bytes <= std::max<std::size_t>(64, 2 * bytes));
      std::memset(piece.get(), ++mark, bytes);
    }
  mark = 0;
  for (const HostMemory& piece : pieces) CHECK(static_cast<unsigned char>(*piece) == ++mark);
  CHECK_FALSE(landing.take(kLongest + 1));
}

TEST_CASE("landing memory: what was given back is there for pieces of any length") {
  LandingMemory landing;
  CHECK(take_all(landing, 64).size() == LandingMemory::kBytes / 64);
  std::vector<HostMemory> longest = take_all(landing, kLongest);
  CHECK(longest.size() == kLongestPieces);
  CHECK_FALSE(landing.take(64));
  longest.pop_back();
  const std::vector<HostMemory> short_ones = take_all(landing, kLongest / 4);
  CHECK(short_ones.size() == 4);
  longest.clear();
  std::set<const char*> places;
  for (const HostMemory& piece : take_all(landing, kLongest / 2)) places.insert(piece.get());
  CHECK(places.size() == 2 * (kLongestPieces - 1));
}

TEST_CASE("landing memory: it is pinned once, and again after a reset of the device") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  LandingMemory landing;
  CHECK(landing.pin(device));
  CHECK(landing.pin(device));
  const HostMemory piece = landing.take(100);
  const auto located = cuda->locate(piece.get());
  REQUIRE(located);
  CHECK(located->kind == BufferKind::kPinned);
  landing.unpin();
  CHECK_FALSE(cuda->locate(piece.get()));
  CHECK(landing.pin(device));
}

}  // namespace nearpeak::layer
