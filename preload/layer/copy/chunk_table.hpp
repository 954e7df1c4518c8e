// SPDX-License-Identifier: Apache-2.0
// Chunks of memory that a rank has mapped itself and gives to others, in memory that all of them
// share. What it gives begins with one of them, and goes on with those that it leads to.
#pragma once

#include <array>
#include <cstdint>

#include "layer/copy/process.hpp"

namespace nearpeak::layer {

struct GivenChunk {
  std::uint64_t allocation = 0;  // its number
  std::uint64_t base = 0;        // as its process calls it
  std::uint64_t bytes = 0;
  std::int32_t file = -1;   // a file descriptor of its process
  std::uint32_t after = 0;  // where the chunk is that begins behind it
};

// The owner changes no entry that another rank may read.
struct ChunkTable {
  static constexpr std::uint32_t kMost = 1024;
  std::array<GivenChunk, kMost> chunks;
};

// That of a rank.
struct ChunkOwner {
  ChunkTable* table = nullptr;
  const Process* process = nullptr;
};

}  // namespace nearpeak::layer
