// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/watch.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace nearpeak::layer {
namespace {

constexpr std::size_t kWatched = 16;

Range watched(int flags = MAP_PRIVATE) {
  const std::size_t bytes = kWatched * page_bytes();
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, bytes);
  return {static_cast<char*>(memory), static_cast<char*>(memory) + bytes};
}

Range some_of(const Range& of, std::size_t first, std::size_t pages) {
  char* const begin = of.begin + first * page_bytes();
  return {begin, begin + pages * page_bytes()};
}

bool one_is(const std::vector<Range>& gone, const Range& wanted) {
  return gone.size() == 1 && gone[0].begin == wanted.begin && gone[0].end == wanted.end;
}

}  // namespace

TEST_CASE("watch: the kernel tells of pages that go, whatever they go by") {
  Watch watch;
  const Range pages = watched();
  if (!watch.begin(pages)) {
    MESSAGE("this system does not tell of memory that goes");
    munmap(pages.begin, pages.bytes());
    return;
  }
  const auto flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  CHECK(watch.steady(pages));
  pages.begin[5] = 2;  // a write changes no page
  CHECK(watch.gone().empty());

  const Range dropped = some_of(pages, 1, 2);
  madvise(dropped.begin, dropped.bytes(), MADV_DONTNEED);
  CHECK(one_is(watch.gone(), dropped));
  CHECK(watch.gone().empty());

  const Range over = some_of(pages, 4, 2);
  mmap(over.begin, over.bytes(), PROT_READ | PROT_WRITE, flags, -1, 0);
  CHECK(one_is(watch.gone(), over));
  CHECK_FALSE(watch.steady(over));  // what is there is another mapping
  CHECK(watch.steady(pages));

  const Range moved = some_of(pages, 8, 2);
  const Range there = watched();
  mremap(moved.begin, moved.bytes(), moved.bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, there.begin);
  const auto gone = watch.gone();
  REQUIRE_FALSE(gone.empty());
  CHECK(std::any_of(gone.begin(), gone.end(), [&](const Range& each) { return each.has(moved); }));

  const Range last = some_of(pages, kWatched - 2, 2);
  munmap(last.begin, last.bytes());
  CHECK(one_is(watch.gone(), last));

  watch.end(some_of(pages, 0, 1));
  munmap(pages.begin, page_bytes());
  CHECK(watch.gone().empty());
  munmap(pages.begin, pages.bytes());
  munmap(there.begin, there.bytes());
}

#ifndef NEARPEAK_SANITIZED  // whose malloc keeps what is freed
TEST_CASE("watch: what malloc gives, and gives back") {
  Watch watch;
  constexpr std::size_t kBytes = std::size_t{64} << 20;  // it keeps less than 32 MiB, at times
  constexpr std::size_t kUsed = std::size_t{4} << 20;
  auto* const memory = static_cast<char*>(std::malloc(kBytes));
  std::memset(memory, 1, kUsed);
  char* const begin =
      memory + page_bytes() - reinterpret_cast<std::uintptr_t>(memory) % page_bytes();
  const Range pages{begin, begin + kUsed / 2};
  if (watch.begin(pages)) {
    CHECK(Watch::are_private(pages));
    std::free(memory);
    const auto gone = watch.gone();
    REQUIRE(gone.size() == 1);
    CHECK(gone[0].has(pages));
  } else {
    std::free(memory);
  }
}
#endif

TEST_CASE("watch: pages that others may change are none of its") {
  const Range shared = watched(MAP_SHARED);
  CHECK_FALSE(Watch::are_private(shared));
  munmap(shared.begin, shared.bytes());
}

}  // namespace nearpeak::layer
