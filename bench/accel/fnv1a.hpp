// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nearpeak {

// Fowler, Noll and Vo's FNV-1a of 64 bits: for names and damaged files, not for malice.
inline std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001B3U;
  return hash;
}

}  // namespace nearpeak
