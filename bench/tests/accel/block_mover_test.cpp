// SPDX-License-Identifier: Apache-2.0
#include "accel/block_mover.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "tests/accel/fake.hpp"

using namespace nearpeak;

TEST_CASE("a layout is the same however it was put together") {
  Layout dense{.block = 8};
  dense.repeat(10, 8);
  CHECK(dense.block == 80);
  CHECK(dense.levels.empty());
  Layout nested{.offset = 4, .block = 8};
  nested.repeat(3, 24);
  nested.repeat(5, 72);
  nested.repeat(1, 999);
  REQUIRE(nested.levels.size() == 1);
  CHECK(nested.levels[0].count == 15);
  nested.repeat(2, -1000);
  CHECK(nested.blocks() == 30);
  CHECK(nested.bytes() == 240);
  CHECK(nested.place(0) == 4);
  CHECK(nested.place(16) == 4 + 24 - 1000);
  CHECK(nested.low() == 4 - 1000);
  CHECK(nested.high() == 4 + 14 * 24 + 8);
}

TEST_CASE("a block mover moves the bytes of a layout, and no others") {
  constexpr std::size_t kRoom = 20'000;
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  BlockMover mover(device);
  const SlotBuffer data(device.memory(BufferKind::kDevice), kRoom, 1);
  const SlotBuffer packed(device.memory(BufferKind::kDevice), kRoom, 1);
  const SlotBuffer other(device.memory(BufferKind::kDevice), kRoom, 1);
  std::vector<char> before(kRoom), got(kRoom);
  for (std::size_t i = 0; i < kRoom; ++i) before[i] = static_cast<char>(i * 131 + i / 251);
  const std::vector<char> blank(kRoom, 'x');
  for (const Layout& layout :
       {Layout{.offset = 16, .block = 32, .levels = {{50, 64}}},
        Layout{.offset = 0, .block = 8, .levels = {{10, 24}, {7, 488}}},
        Layout{.offset = 4, .block = 12, .levels = {{9, 20}, {3, 400}}},
        Layout{.offset = 2, .block = 6, .levels = {{9, 10}, {3, 222}}},
        Layout{.offset = 9001, .block = 5, .levels = {{9, -7}, {3, 203}}},
        Layout{.offset = 1, .block = 3, .levels = {{3, 5}, {4, 17}, {5, 101}, {6, 1009}}},
        Layout{.offset = 3, .block = 500, .levels = {}}}) {
    REQUIRE(BlockMover::takes(layout));
    std::vector<char> expected;
    std::vector<char> spread(blank);
    for (std::uint64_t i = 0; i < layout.blocks(); ++i)
      for (std::uint64_t k = 0; k < layout.block; ++k) {
        const auto at = static_cast<std::size_t>(layout.place(i)) + k;
        expected.push_back(before[at]);
        spread[at] = before[at];
      }
    device.copy(data.slot(0), before.data(), kRoom);
    device.copy(packed.slot(0), blank.data(), kRoom);
    device.copy(other.slot(0), blank.data(), kRoom);
    mover.pack(packed.slot(0), layout, data.slot(0), layout.bytes());
    device.copy(got.data(), packed.slot(0), kRoom);
    CHECK(std::vector<char>(got.begin(), got.begin() + static_cast<long>(expected.size())) ==
          expected);
    CHECK(got[expected.size()] == 'x');
    mover.unpack(layout, other.slot(0), packed.slot(0), layout.bytes());
    device.copy(got.data(), other.slot(0), kRoom);
    CHECK(got == spread);
    device.copy(other.slot(0), blank.data(), kRoom);
    mover.copy(layout, other.slot(0), data.slot(0));
    device.copy(got.data(), other.slot(0), kRoom);
    CHECK(got == spread);
  }
  CHECK_FALSE(BlockMover::takes({.offset = 0, .block = 1 << 20, .levels = {{1 << 12, 1 << 21}}}));
  CHECK_FALSE(BlockMover::takes(
      {.offset = 0, .block = 1, .levels = {{2, 3}, {2, 7}, {2, 17}, {2, 37}, {2, 77}}}));
}
