// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace nearpeak {

// Where data lies that is packed block by block: blocks of one length, repeated by levels, of which
// the first is that of blocks that follow each other when they are packed.
struct Layout {
  struct Level {
    std::uint64_t count;
    std::int64_t stride;  // bytes from one to the next
  };

  std::int64_t offset = 0;  // bytes, where the first block begins
  std::uint64_t block = 0;  // bytes
  std::vector<Level> levels{};

  // All that there is so many times.
  void repeat(std::uint64_t count, std::int64_t stride) {
    if (count == 1) return;
    if (levels.empty() && stride == static_cast<std::int64_t>(block))
      block *= count;
    else if (!levels.empty() &&
             stride == levels.back().stride * static_cast<std::int64_t>(levels.back().count))
      levels.back().count *= count;
    else
      levels.push_back({count, stride});
  }

  std::uint64_t blocks() const {
    std::uint64_t all = 1;
    for (const Level& level : levels) all *= level.count;
    return all;
  }
  std::uint64_t bytes() const { return block * blocks(); }
  // Of all: where it begins and ends, in bytes.
  std::int64_t low() const {
    std::int64_t at = offset;
    for (const Level& level : levels)
      if (level.stride < 0) at += level.stride * static_cast<std::int64_t>(level.count - 1);
    return at;
  }
  std::int64_t high() const {
    std::int64_t at = offset + static_cast<std::int64_t>(block);
    for (const Level& level : levels)
      if (level.stride > 0) at += level.stride * static_cast<std::int64_t>(level.count - 1);
    return at;
  }
  // Where a block is.
  std::int64_t place(std::uint64_t number) const {
    std::int64_t at = offset;
    for (const Level& level : levels) {
      at += level.stride * static_cast<std::int64_t>(number % level.count);
      number /= level.count;
    }
    return at;
  }
};

}  // namespace nearpeak
