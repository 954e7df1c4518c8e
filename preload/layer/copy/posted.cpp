// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/posted.hpp"

#include <algorithm>
#include <utility>

namespace nearpeak::layer {

PostedPiece Posted::take(std::size_t bytes) {
  // Not a much longer one, which a longer message may want.
  const auto fits = std::find_if(free_.begin(), free_.end(), [&](const PostedPiece& piece) {
    return piece.bytes >= bytes && piece.bytes / 2 <= bytes;
  });
  if (fits == free_.end()) return {bytes, host_memory_of(bytes)};
  PostedPiece piece = std::move(*fits);
  bytes_ -= piece.bytes;
  free_.erase(fits);
  return piece;
}

void Posted::give_back(PostedPiece piece) {
  if (piece.bytes < kLeast || piece.bytes > kMost) return;
  bytes_ += piece.bytes;
  free_.push_front(std::move(piece));
  while (bytes_ > kMost || free_.size() > kPieces) {
    bytes_ -= free_.back().bytes;
    free_.pop_back();
  }
}

}  // namespace nearpeak::layer
