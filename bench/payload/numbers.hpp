// SPDX-License-Identifier: Apache-2.0
// Payloads of numbers that are added up: small whole numbers, so that every sum is exact in every
// type and in every order of adding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "payload/pattern.hpp"

namespace nearpeak {

// Of so many ranks a sum is below kNumbers * ranks: exact in float up to half a million ranks.
inline constexpr std::uint64_t kNumbers = 32;

// What `rank` contributes at `index` in a round.
inline std::uint64_t number_at(std::size_t index, int rank, std::uint64_t round) {
  return (7 * index + 13 * static_cast<std::uint64_t>(rank) + 5 * round + 1) % kNumbers;
}

template <class T>
void fill_numbers(void* target, std::size_t count, int rank, std::uint64_t round) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(number_at(i, rank, round));
    std::memcpy(static_cast<char*>(target) + i * sizeof(T), &value, sizeof(T));
  }
}

// The first byte that is not that of the sum over ranks 0 to ranks - 1.
template <class T>
std::optional<Mismatch> find_wrong_sum(const void* data, std::size_t count, int ranks,
                                       std::uint64_t round) {
  T sums[kNumbers];  // the numbers repeat
  for (std::size_t i = 0; i < kNumbers; ++i) {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += number_at(i, rank, round);
    sums[i] = static_cast<T>(sum);
  }
  const auto* const in = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char expected[sizeof(T)];
    std::memcpy(expected, &sums[i % kNumbers], sizeof(T));
    for (std::size_t byte = 0; byte < sizeof(T); ++byte)
      if (in[i * sizeof(T) + byte] != expected[byte])
        return Mismatch{0, i * sizeof(T) + byte, expected[byte], in[i * sizeof(T) + byte]};
  }
  return std::nullopt;
}

}  // namespace nearpeak
