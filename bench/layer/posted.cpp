// SPDX-License-Identifier: Apache-2.0
#include "layer/posted.hpp"

#include <algorithm>
#include <utility>

namespace nearpeak::layer {

HostMemory Posted::take(std::size_t bytes) {
  if (bytes < kLeast) return host_memory_of(bytes);
  // Not a much longer one, which a longer message may want.
  const auto fits = std::find_if(free_.begin(), free_.end(), [&](const Piece& piece) {
    return piece.bytes >= bytes && piece.bytes / 2 <= bytes;
  });
  if (fits == free_.end()) return host_memory_of(bytes);
  HostMemory memory = std::move(fits->memory);
  bytes_ -= fits->bytes;
  free_.erase(fits);
  return memory;
}

void Posted::give_back(HostMemory memory, std::size_t bytes) {
  if (bytes < kLeast || bytes > kMost) return;
  free_.push_front({bytes, std::move(memory)});
  bytes_ += bytes;
  while (bytes_ > kMost || free_.size() > kPieces) {
    bytes_ -= free_.back().bytes;
    free_.pop_back();
  }
}

}  // namespace nearpeak::layer
