// SPDX-License-Identifier: Apache-2.0
// Payloads whose every byte depends on its place and on a seed, so that lost, moved, repeated or
// foreign bytes are all seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace nearpeak {

// The first byte that is not what it should be.
struct Mismatch {
  std::size_t byte;
  unsigned expected;
  unsigned got;
};

void fill_pattern(void* target, std::size_t bytes, std::uint64_t seed);
// Every byte different from the pattern's, so that a message that never came is seen.
void fill_inverse(void* target, std::size_t bytes, std::uint64_t seed);
std::optional<Mismatch> find_mismatch(const void* data, std::size_t bytes, std::uint64_t seed);

}  // namespace nearpeak
