// SPDX-License-Identifier: Apache-2.0
#include "group/host_memory.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;

TEST_CASE("the memory of a host is that of all its ranks together") {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  CHECK(why_too_much({{1, kGib, 4 * kGib}, {1, kGib, 4 * kGib}}, "host", 0.7).empty());
  CHECK(why_too_much({{1, 2 * kGib, 4 * kGib}, {1, kGib, 4 * kGib}}, "host", 0.7) ==
        "the buffers of all ranks of a host are 3072 MiB, and it has 4096 MiB available: choose "
        "smaller sizes or fewer ranks");
  CHECK(why_too_much({{1, 2 * kGib, 4 * kGib}, {2, 2 * kGib, 4 * kGib}}, "host", 0.7).empty());
  CHECK(why_too_much({{1, 2 * kGib, 2 * kGib}}, "device", 0.9) ==
        "the buffers of all ranks of a device are 2048 MiB, and it has 2048 MiB available: choose "
        "smaller sizes or fewer ranks");
  // The least that any of them saw: another may have begun to take its own.
  CHECK_FALSE(why_too_much({{1, kGib, 4 * kGib}, {1, kGib, 2 * kGib}}, "host", 0.7).empty());
}

TEST_CASE("of this host, nothing fits and everything does not") {
  Alone group;
  CHECK(why_too_much(group, 0).empty());
  CHECK_FALSE(why_too_much(group, ~std::uint64_t{0}).empty());
}
