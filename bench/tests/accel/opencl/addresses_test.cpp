// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/addresses.hpp"

#include <doctest/doctest.h>

#include <new>

using namespace nearpeak;
using namespace nearpeak::opencl;

TEST_CASE("OpenCL: an address is found in the allocation that it lies in, and in no other") {
  Addresses addresses;
  char memory[64];
  const auto add = [&](int start, std::size_t bytes, BufferKind kind) {
    addresses.add({kind, memory + start, bytes, nullptr, nullptr, nullptr});
  };
  add(8, 8, BufferKind::kDevice);
  add(16, 1, BufferKind::kPinned);
  add(32, 0, BufferKind::kManaged);
  CHECK_FALSE(addresses.find(memory + 7));
  for (int i = 8; i < 16; ++i) {
    const auto found = addresses.find(memory + i);
    REQUIRE(found);
    CHECK(found->address == memory + 8);
    CHECK((found->kind == BufferKind::kDevice));
  }
  CHECK((addresses.find(memory + 16)->kind == BufferKind::kPinned));
  CHECK_FALSE(addresses.find(memory + 17));
  CHECK((addresses.find(memory + 32)->kind == BufferKind::kManaged));  // also an empty one
  CHECK_FALSE(addresses.find(memory + 33));

  CHECK_FALSE(addresses.take(memory + 9));  // not its start
  CHECK(addresses.take(memory + 8)->bytes == 8);
  CHECK_FALSE(addresses.take(memory + 8));
  CHECK_FALSE(addresses.find(memory + 9));
}

TEST_CASE("OpenCL: reserved addresses are page-aligned and apart") {
  char* const first = reserve_addresses(5000);
  char* const second = reserve_addresses(0);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 4096 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(second) % 4096 == 0);
  CHECK((second < first || second >= first + 5000));
  release_addresses(first, 5000);
  release_addresses(second, 0);
  CHECK_THROWS_AS(reserve_addresses(~std::size_t{0} / 2), std::bad_alloc);
}
