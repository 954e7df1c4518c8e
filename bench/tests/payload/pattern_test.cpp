// SPDX-License-Identifier: Apache-2.0
#include "payload/pattern.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "accel/memory.hpp"

using namespace nearpeak;

TEST_CASE("a pattern is found right at every length, and nothing beyond it is written") {
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 1000u}) {
    std::vector<unsigned char> data(bytes + 8, 0xA5);
    fill_pattern(data.data(), bytes, 5);
    CHECK_FALSE(find_mismatch(data.data(), bytes, 5));
    for (std::size_t i = bytes; i < data.size(); ++i) CHECK(data[i] == 0xA5);
  }
}

TEST_CASE("each single wrong byte is found, and named with what it is and should be") {
  std::vector<unsigned char> data(1101);  // blocks of words, words and bytes
  for (std::size_t i = 0; i < data.size(); ++i) {
    fill_pattern(data.data(), data.size(), 9);
    const unsigned right = data[i];
    data[i] ^= 1;
    const auto wrong = find_mismatch(data.data(), data.size(), 9);
    REQUIRE(wrong);
    CHECK(wrong->byte == i);
    CHECK(wrong->expected == right);
    CHECK(wrong->got == (right ^ 1));
  }
}

TEST_CASE("the inverse differs from the pattern in every byte") {
  std::vector<unsigned char> pattern(100);
  std::vector<unsigned char> inverse(100);
  fill_pattern(pattern.data(), pattern.size(), 3);
  fill_inverse(inverse.data(), inverse.size(), 3);
  for (std::size_t i = 0; i < pattern.size(); ++i) CHECK(pattern[i] != inverse[i]);
}

TEST_CASE("another seed, and data that has moved, are wrong") {
  std::vector<unsigned char> data(64);
  fill_pattern(data.data(), 64, 1);
  CHECK(find_mismatch(data.data(), 64, 2));
  CHECK(find_mismatch(data.data() + 8, 56, 1));
}

TEST_CASE("slots are whole cache lines with payloads of their own") {
  for (const std::size_t bytes : {0u, 1u, 64u, 100u}) {
    SlotBuffer slots(host_memory(), bytes, 3);
    const auto stride = static_cast<std::size_t>(slots.slot(1) - slots.slot(0));
    CHECK(stride == SlotBuffer::stride(bytes));
    CHECK(stride % 64 == 0);
    CHECK(stride >= bytes);
    slots.fill_pattern(7);
    CHECK_FALSE(slots.find_mismatch(7));
    if (bytes == 0) continue;
    slots.slot(2)[bytes - 1] ^= 1;
    CHECK(slots.find_mismatch(7));
    slots.fill_pattern(7);
    CHECK(find_mismatch(slots.slot(1), bytes, 7));  // slot 0's would do here if they were equal
  }
}
