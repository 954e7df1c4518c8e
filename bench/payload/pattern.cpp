// SPDX-License-Identifier: Apache-2.0
#include "payload/pattern.hpp"

#include <cstring>

namespace nearpeak {
namespace {

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a good mix of a counter, a few cycles a word.
std::uint64_t word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = (seed + index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

void fill(void* target, std::size_t bytes, std::uint64_t seed, std::uint64_t flip) {
  auto* out = static_cast<unsigned char*>(target);
  const std::size_t words = bytes / 8;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t value = word(seed, i) ^ flip;
    std::memcpy(out + 8 * i, &value, 8);
  }
  const std::uint64_t last = word(seed, words) ^ flip;
  std::memcpy(out + 8 * words, &last, bytes % 8);
}

}  // namespace

void fill_pattern(void* target, std::size_t bytes, std::uint64_t seed) {
  fill(target, bytes, seed, 0);
}

void fill_inverse(void* target, std::size_t bytes, std::uint64_t seed) {
  fill(target, bytes, seed, ~std::uint64_t{0});
}

std::optional<Mismatch> find_mismatch(const void* data, std::size_t bytes, std::uint64_t seed) {
  const auto* in = static_cast<const unsigned char*>(data);
  // Blocks are compared without a branch for each word, so that the compiler uses vectors.
  constexpr std::size_t kBlock = 64;
  std::size_t good = 0;  // words
  for (; (good + kBlock) * 8 <= bytes; good += kBlock) {
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, in + 8 * (good + i), 8);
      difference |= value ^ word(seed, good + i);
    }
    if (difference != 0) break;
  }
  for (std::size_t i = 8 * good; i < bytes; ++i) {
    const std::uint64_t value = word(seed, i / 8);
    unsigned char expected[8];
    std::memcpy(expected, &value, 8);
    if (in[i] != expected[i % 8]) return Mismatch{i, expected[i % 8], in[i]};
  }
  return std::nullopt;
}

}  // namespace nearpeak
