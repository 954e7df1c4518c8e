// SPDX-License-Identifier: Apache-2.0
#include "benchmark/slots.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;

TEST_CASE("rotating buffers are more than the caches hold, or 65,536 messages, or 1 GiB") {
  constexpr std::uint64_t kWindow = 4;
  for (const std::size_t bytes : {0u, 1u, 4096u, 1u << 20, 64u << 20}) {
    const auto messages = rotating_windows(bytes, kWindow, largest_cache()) * kWindow;
    CHECK(messages >= 2 * kWindow);
    const bool beyond_caches = messages * bytes > 2 * largest_cache();
    const bool many = messages > 65536 - kWindow;
    const bool large = (messages + kWindow) * bytes > std::uint64_t{1} << 30;
    CHECK((beyond_caches || many || large));
  }
}

TEST_CASE("rotating buffers are more than the cache that is named") {
  constexpr std::uint64_t kDeviceCache = std::uint64_t{192} << 20;
  CHECK(rotating_windows(1 << 20, 1, kDeviceCache) == 385);
  CHECK(rotating_windows(1 << 20, 64, kDeviceCache) == 7);
}

TEST_CASE("rotating buffers take at most 1 GiB, however large a slot is for its message") {
  constexpr std::uint64_t kCache = std::uint64_t{480} << 20;
  CHECK(rotating_windows(8, 1, kCache) == 2 * kCache / 64 + 1);
  CHECK(rotating_windows(8, 1, kCache, 512) == (std::uint64_t{1} << 30) / 512);
}
