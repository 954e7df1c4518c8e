// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/pinned_cache.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstring>

#include "tests/accel/fake.hpp"

namespace nearpeak::layer {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

Range buffer(char* at = nullptr) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED);
  auto* const memory = static_cast<char*>(mmap(at, kBuffer, PROT_READ | PROT_WRITE, flags, -1, 0));
  std::memset(memory, 1, kBuffer);
  return {memory, memory + kBuffer};
}

// Whether this system tells of memory that goes: else nothing is pinned.
bool can_watch() {
  Watch watch;
  const Range one = buffer();
  const bool can = watch.begin(one);
  munmap(one.begin, kBuffer);
  return can;
}

}  // namespace

TEST_CASE("pinned cache: whole pages within") {
  auto* const page = reinterpret_cast<char*>(8 * page_bytes());
  CHECK(pages_within({page + 1, page + page_bytes() - 1}).bytes() == 0);
  CHECK(pages_within({page + 1, page + 2 * page_bytes() - 1}).bytes() == 0);
  const Range two = pages_within({page - 5, page + 2 * page_bytes() + 5});
  CHECK(two.begin == page);
  CHECK(two.bytes() == 2 * page_bytes());
}

TEST_CASE("pinned cache: memory is pinned until the application gives it back") {
  const FakeCuda fake;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  const bool can = can_watch();
  const Range all = buffer();
  const Range bytes{all.begin + 16, all.end - 100};
  {
    PinnedCache cache(devices);
    CHECK_FALSE(cache.used(bytes));
    CHECK(cache.used(bytes));
    CHECK(cache.part_of(bytes).bytes() == 0);
    cache.keep(0, bytes);
    if (can) {
      CHECK(cache.part_of(bytes).begin == all.begin + page_bytes());
      CHECK(cache.part_of(bytes).bytes() == kBuffer - 2 * page_bytes());
      const Range some{bytes.begin + 5 * page_bytes(), bytes.end - 5 * page_bytes()};
      CHECK(cache.part_of(some).bytes() == pages_within(some).bytes());
      CHECK_FALSE(cache.is_pinned_by_application(some));
      // One that goes beyond is pinned with it.
      CHECK(cache.part_of(all).bytes() == 0);
      cache.keep(0, all);
      CHECK(cache.part_of(all).bytes() == kBuffer);
      const int live = FakeCuda::live();

      // The same address, and another page.
      buffer(all.begin);
      CHECK(cache.part_of(bytes).bytes() == 0);
      CHECK(FakeCuda::live() == live - 1);
      CHECK_FALSE(cache.used(bytes));
    }
    cache.keep(0, all);
    cache.end();
    CHECK(cache.part_of(all).bytes() == 0);
    munmap(all.begin, kBuffer);
  }
}

TEST_CASE("pinned cache: what the application has pinned is used, and left alone") {
  const FakeCuda fake;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  const auto cuda = FakeCuda::load();
  const Range all = buffer();
  const Range half{all.begin + kBuffer / 2, all.end};
  {
    const auto own = cuda->device(0).registration()->register_memory(half.begin, half.bytes());
    PinnedCache cache(devices);
    CHECK(cache.part_of(half).bytes() == half.bytes());
    CHECK(cache.is_pinned_by_application(half));
    CHECK(cache.part_of(all).bytes() == 0);
    CHECK_FALSE(cache.is_pinned_by_application(all));
    cache.keep(0, all);
    CHECK(cache.part_of(all).bytes() == 0);
    CHECK_FALSE(cache.used(all));
    CHECK(cache.part_of(half).bytes() == half.bytes());
  }
  munmap(all.begin, kBuffer);
}

}  // namespace nearpeak::layer
