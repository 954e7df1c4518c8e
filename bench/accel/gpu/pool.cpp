// SPDX-License-Identifier: Apache-2.0
#include "accel/gpu/pool.hpp"

#include <algorithm>

namespace nearpeak::gpu {
namespace {

std::size_t whole(std::size_t bytes) {
  return (bytes + Pool::kUnit - 1) / Pool::kUnit * Pool::kUnit;
}

}  // namespace

std::vector<AllocatorInfo> pool_infos() {
  return {{kPool, BufferKind::kDevice, "a piece of a larger allocation of device memory"},
          {kManagedPool, BufferKind::kManaged, "a piece of a larger allocation of managed memory"}};
}

Pool::~Pool() {
  for (const Block& block : blocks_) source_->release(block.begin);
}

void* Pool::allocate(std::size_t bytes) {
  bytes = whole(bytes);
  for (Block& block : blocks_)
    if (void* const piece = piece_of(block, bytes)) return piece;
  give_back_empty();
  const std::size_t all = std::max(kBlock, kUnit + bytes);
  blocks_.push_back({static_cast<char*>(source_->allocate(all)), all, {}});
  return piece_of(blocks_.back(), bytes);
}

// The first gap that is large enough. The first unit of a block is nobody's.
void* Pool::piece_of(Block& block, std::size_t bytes) {
  std::size_t begin = kUnit;
  for (const auto& [next, taken] : block.pieces) {
    if (next - begin >= bytes) break;
    begin = next + taken;
  }
  if (bytes > block.bytes - begin) return nullptr;
  block.pieces[begin] = bytes;
  return block.begin + begin;
}

void Pool::release(void* memory) noexcept {
  char* const piece = static_cast<char*>(memory);
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return piece >= block.begin && piece < block.begin + block.bytes;
  });
  found->pieces.erase(static_cast<std::size_t>(piece - found->begin));
}

void Pool::give_back_empty() {
  const auto empty = std::partition(blocks_.begin(), blocks_.end(),
                                    [](const Block& block) { return !block.pieces.empty(); });
  std::for_each(empty, blocks_.end(),
                [this](const Block& block) { source_->release(block.begin); });
  blocks_.erase(empty, blocks_.end());
}

}  // namespace nearpeak::gpu
