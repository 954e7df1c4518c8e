// SPDX-License-Identifier: Apache-2.0
#include "payload/pattern.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "accel/memory.hpp"

using namespace nearpeak;

namespace {

SlotLayout one_slot(std::size_t bytes) { return {.bytes = bytes, .stride = bytes, .count = 1}; }

}  // namespace

TEST_CASE("a pattern is found right at every length, and nothing beyond it is written") {
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 1000u, 5000u}) {
    std::vector<unsigned char> data(bytes + 8, 0xA5);
    fill(data.data(), one_slot(bytes), {5, 3});
    CHECK_FALSE(find_mismatch(data.data(), one_slot(bytes), {5, 3}));
    CHECK_FALSE(find_mismatch(data.data(), one_slot(bytes), {5, 3}, Part::kStamps));
    for (std::size_t i = bytes; i < data.size(); ++i) CHECK(data[i] == 0xA5);
  }
}

TEST_CASE("each single wrong byte is found, and named with what it is and should be") {
  std::vector<unsigned char> data(5003);  // blocks of words, words, bytes and stamps
  const SlotLayout layout = one_slot(data.size());
  fill(data.data(), layout, {9, 1});
  for (std::size_t i = 0; i < data.size(); i += i % 64 < 60 ? 7 : 1) {
    const unsigned right = data[i];
    data[i] ^= 1;
    const auto wrong = find_mismatch(data.data(), layout, {9, 1});
    REQUIRE(wrong);
    CHECK(wrong->byte == i);
    CHECK(wrong->expected == right);
    CHECK(wrong->got == (right ^ 1));
    data[i] ^= 1;
  }
}

TEST_CASE("another round costs only its stamps, and the payload of the round before is wrong") {
  for (const std::size_t bytes : {1u, 8u, 100u, 4096u, 20'000u}) {
    std::vector<unsigned char> whole(bytes);
    std::vector<unsigned char> renewed(bytes);
    fill(whole.data(), one_slot(bytes), {4, 7});
    fill(renewed.data(), one_slot(bytes), {4, 0});
    CHECK(find_mismatch(renewed.data(), one_slot(bytes), {4, 7}, Part::kStamps));
    fill(renewed.data(), one_slot(bytes), {4, 7}, Part::kStamps);
    CHECK(whole == renewed);
  }
}

TEST_CASE("a page that was left out is seen by its stamp") {
  constexpr std::size_t kBytes = 64 << 10;
  std::vector<unsigned char> sent(kBytes);
  std::vector<unsigned char> got(kBytes);
  fill(sent.data(), one_slot(kBytes), {4, 2});
  for (std::size_t page = 0; page < kBytes; page += 4096) {
    fill(got.data(), one_slot(kBytes), {4, 2});
    std::vector<unsigned char> before(kBytes);
    fill(before.data(), one_slot(kBytes), {4, 1});
    std::memcpy(got.data() + page, before.data() + page, 4096);
    CHECK(find_mismatch(got.data(), one_slot(kBytes), {4, 2}, Part::kStamps));
  }
}

TEST_CASE("what was poisoned is wrong in every byte, and gaps are to stay so") {
  const SlotLayout layout{.bytes = 100, .stride = 128, .count = 2};
  std::vector<unsigned char> pattern(256);
  std::vector<unsigned char> poisoned(256);
  fill(pattern.data(), layout, {3});
  poison(poisoned.data(), layout, 3);
  for (std::size_t i = 0; i < 256; ++i)
    if (i % 128 < 100) CHECK(pattern[i] != poisoned[i]);
  for (std::size_t slot = 0; slot < 2; ++slot)
    std::memcpy(poisoned.data() + 128 * slot, pattern.data() + 128 * slot, 100);
  CHECK_FALSE(find_mismatch(poisoned.data(), layout, {3}));
  poisoned[128 + 110] ^= 1;
  const auto wrong = find_mismatch(poisoned.data(), layout, {3});
  REQUIRE(wrong);
  CHECK(wrong->slot == 1);
  CHECK(wrong->byte == 110);
}

TEST_CASE("another seed, and data that has moved, are wrong") {
  std::vector<unsigned char> data(64);
  fill(data.data(), one_slot(64), {1});
  CHECK(find_mismatch(data.data(), one_slot(64), {2}));
  CHECK(find_mismatch(data.data() + 8, one_slot(56), {1}));
}

TEST_CASE("every word is the one that payload_word tells, in the slots and behind them") {
  const SlotLayout layout{.bytes = 4104, .stride = 4160, .count = 2};
  std::vector<unsigned char> data(layout.stride * layout.count);
  poison(data.data(), layout, 6);
  fill(data.data(), layout, {6, 5});
  for (std::size_t slot = 0; slot < layout.count; ++slot)
    for (std::size_t i = 0; i < layout.stride / 8; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data() + slot * layout.stride + 8 * i, 8);
      CHECK(word == payload_word({6, 5}, slot, i, layout.bytes));
    }
}

TEST_CASE("a piece is what its sender has there, wherever it begins and ends") {
  constexpr std::size_t kWhole = 9001;
  const Payload payload{5, 3};
  std::vector<unsigned char> sent(kWhole);
  fill(sent.data(), one_slot(kWhole), payload);
  const auto piece = [&](std::size_t from, std::size_t bytes) {
    return Slice{.payload = payload, .whole = kWhole, .from = from, .bytes = bytes};
  };
  for (const std::size_t from : {0u, 1u, 8u, 13u, 4095u, 4096u, 8990u})
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 11u}) {
      std::vector<unsigned char> got(sent.begin() + from, sent.begin() + from + bytes);
      got.push_back(0);
      CHECK_FALSE(find_mismatch(got.data(), piece(from, bytes)));
      if (bytes == 0) continue;
      CHECK(find_mismatch(got.data(), piece(from + 1, bytes)));
      got[bytes - 1] ^= 1;
      const auto wrong = find_mismatch(got.data(), piece(from, bytes));
      REQUIRE(wrong);
      CHECK(wrong->byte == bytes - 1);
      CHECK(wrong->got == got[bytes - 1]);
    }
  CHECK_FALSE(find_mismatch(sent.data(), piece(0, kWhole)));
  // The stamps of another round lie in the first and the last word of each 4 KiB.
  Slice late = piece(0, kWhole);
  late.payload.round = 4;
  CHECK(find_mismatch(sent.data(), late)->byte < 8);
}

TEST_CASE("slots are whole cache lines with payloads of their own") {
  for (const std::size_t bytes : {0u, 1u, 64u, 100u}) {
    SlotBuffer slots(host_memory(), bytes, 3);
    const auto stride = static_cast<std::size_t>(slots.slot(1) - slots.slot(0));
    CHECK(stride == SlotBuffer::stride(bytes));
    CHECK(stride % 64 == 0);
    CHECK(stride >= bytes);
    slots.poison(7);
    slots.fill({7});
    CHECK_FALSE(slots.find_mismatch({7}));
    if (bytes == 0) continue;
    slots.slot(2)[bytes - 1] ^= 1;
    CHECK(slots.find_mismatch({7})->slot == 2);
    CHECK_FALSE(slots.find_mismatch({7}, Part::kAll, 0, 2));
    slots.fill({7}, Part::kAll, 2);
    CHECK_FALSE(slots.find_mismatch({7}, Part::kAll, 1));
    std::memcpy(slots.slot(1), slots.slot(0), bytes);
    CHECK(slots.find_mismatch({7})->slot == 1);
  }
}
