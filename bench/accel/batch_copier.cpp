// SPDX-License-Identifier: Apache-2.0
#include "accel/batch_copier.hpp"

#include <algorithm>

namespace nearpeak {

BatchCopier::BatchCopier(Device& device)
    : program_(kernels_of(device).persistent_copy()),
      kernel_(program_->kernel("copy_batch")),
      stream_(device.new_stream()) {}

// All pieces have as many blocks as the longest one needs.
void BatchCopier::begin(const CopyBatch& batch) {
  constexpr unsigned kThreads = 256;
  constexpr std::uint64_t kOfABlock = 8192;
  constexpr std::uint64_t kMostBlocks = 16;
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < batch.count; ++i) longest = std::max(longest, batch.pieces[i].bytes);
  const std::uint64_t blocks = std::clamp<std::uint64_t>(longest / kOfABlock, 1, kMostBlocks);
  const LaunchShape shape{.blocks = static_cast<unsigned>(batch.count * blocks),
                          .threads = kThreads};
  kernel_->launch(shape, {&batch.pieces, &blocks}, *stream_);
}

}  // namespace nearpeak
