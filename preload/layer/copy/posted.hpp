// SPDX-License-Identifier: Apache-2.0
// Host memory for receives into memory of a device, in which mostly no more than an envelope comes.
#pragma once

#include <cstddef>
#include <deque>

#include "layer/copy/host_memory.hpp"

namespace nearpeak::layer {

struct PostedPiece {
  std::size_t bytes = 0;
  HostMemory memory;
};

// Keeps long pieces of it for the next receives: to take 16 MiB of the system, touch their first
// page and give them back takes some 4 us, as long as a short message. Who calls holds the guard.
class Posted {
 public:
  static constexpr std::size_t kLeast = std::size_t{64} << 10;  // bytes; malloc has shorter ones
  static constexpr std::size_t kMost = std::size_t{1} << 30;    // bytes, of addresses
  static constexpr std::size_t kPieces = 64;

  // At least so many bytes. Throws std::bad_alloc.
  PostedPiece take(std::size_t bytes);
  // One of which but the first page was used.
  void give_back(PostedPiece piece);

  std::size_t pieces() const { return free_.size(); }

 private:
  std::deque<PostedPiece> free_;  // the last one that was given back first
  std::size_t bytes_ = 0;
};

}  // namespace nearpeak::layer
