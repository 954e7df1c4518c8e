// SPDX-License-Identifier: Apache-2.0
// Memory of a device that a rank gives to others of its machine, in memory that all of them share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "accel/accelerator.hpp"

namespace nearpeak::layer {

// An allocation, or chunks of memory that lie one behind the other (chunk_table.hpp).
struct Exported {
  std::uint64_t base = 0;  // as its process calls it
  std::uint64_t bytes = 0;
  std::uint32_t first_chunk = 0;  // its place in the table,
  std::uint32_t chunks = 0;       // and how many they are; 0: an allocation
  IpcHandle handle{};             // without a length: of chunks

  // Whether both are the same, if they are of one allocation.
  bool is_alike(const Exported& other) const {
    return base == other.base && bytes == other.bytes && first_chunk == other.first_chunk &&
           chunks == other.chunks;
  }
};

// Throws where a part is not within an allocation that another rank says it has.
inline void check_part(const Exported& exported, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > exported.bytes || bytes > exported.bytes - offset)
    throw std::out_of_range("another rank names memory outside of its allocation");
}

// Allocations that a rank has found freed: who has them open keeps their memory from it. It alone
// writes; who comes late misses some, and is told so.
class Freed {
 public:
  void add(std::uint64_t allocation) {
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    last_[count % kLast].store(allocation, std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_release);
  }
  // Those since `seen`, which is all of them afterwards. False where some were missed.
  template <typename What>
  bool each_since(std::uint64_t& seen, const What& what) const {
    const std::uint64_t count = count_.load(std::memory_order_acquire);
    const bool all = count - seen <= kLast;
    for (std::uint64_t i = std::max(seen, count - std::min(count, kLast)); i < count; ++i)
      what(last_[i % kLast].load(std::memory_order_relaxed));
    seen = count;
    return all;
  }

 private:
  static constexpr std::uint64_t kLast = 64;

  std::atomic<std::uint64_t> count_{0};
  std::array<std::atomic<std::uint64_t>, kLast> last_{};
};

}  // namespace nearpeak::layer
