// SPDX-License-Identifier: Apache-2.0
// Memory as the pools of applications hand it out: pieces of a few large allocations.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "accel/accelerator.hpp"
#include "accel/gpu/source.hpp"

namespace nearpeak::gpu {

inline constexpr const char* kPool = "pool";                 // of device memory
inline constexpr const char* kManagedPool = "managed-pool";  // of managed memory
std::vector<AllocatorInfo> pool_infos();

// Takes blocks of at least kBlock bytes from another source and hands out pieces of them, none of
// which begins where its block does. A freed piece is handed out again; an empty block goes back
// when no block has room, and at the end.
class Pool final : public Source {
 public:
  static constexpr std::size_t kBlock = std::size_t{64} << 20;
  static constexpr std::size_t kUnit = 512;  // a piece begins on a multiple of it in its block

  explicit Pool(std::unique_ptr<Source> blocks) : source_(std::move(blocks)) {}
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;

 private:
  struct Block {
    char* begin;
    std::size_t bytes;
    std::map<std::size_t, std::size_t> pieces;  // where one begins, and how long it is
  };
  // Null where the block has no room.
  static void* piece_of(Block& block, std::size_t bytes);
  void give_back_empty();

  const std::unique_ptr<Source> source_;
  std::vector<Block> blocks_;
};

}  // namespace nearpeak::gpu
