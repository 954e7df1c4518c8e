// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4: a number of a text that nobody can tell without the key (J.-P. Aumasson and D. J.
// Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nearpeak {

using HashKey = std::array<unsigned char, 16>;

inline std::uint64_t siphash(const HashKey& key, const unsigned char* data, std::size_t bytes) {
  const auto word = [](const unsigned char* from, std::size_t n) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < n; ++i) value |= std::uint64_t{from[i]} << (8 * i);
    return value;
  };
  const std::uint64_t k0 = word(key.data(), 8), k1 = word(key.data() + 8, 8);
  std::uint64_t v0 = k0 ^ 0x736f6d6570736575, v1 = k1 ^ 0x646f72616e646f6d;
  std::uint64_t v2 = k0 ^ 0x6c7967656e657261, v3 = k1 ^ 0x7465646279746573;
  const auto rounds = [&](int n) {
    for (int i = 0; i < n; ++i) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  const auto mix = [&](std::uint64_t value) {
    v3 ^= value;
    rounds(2);
    v0 ^= value;
  };
  std::size_t at = 0;
  for (; bytes - at >= 8; at += 8) mix(word(data + at, 8));
  mix(word(data + at, bytes - at) | std::uint64_t{bytes & 0xff} << 56);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace nearpeak
