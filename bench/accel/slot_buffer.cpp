// SPDX-License-Identifier: Apache-2.0
#include "accel/memory.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kCacheLine = 64;

std::uint64_t slot_seed(std::uint64_t seed, std::size_t slot) {
  return seed + (static_cast<std::uint64_t>(slot) << 32);
}

}  // namespace

SlotBuffer::SlotBuffer(Memory& memory, std::size_t bytes, std::size_t slots, std::size_t offset)
    : memory_(memory),
      bytes_(bytes),
      stride_(stride(bytes)),
      slots_(slots),
      offset_(offset),
      base_(static_cast<char*>(memory.allocate(stride_ * slots + offset)) + offset) {}

std::size_t SlotBuffer::stride(std::size_t bytes) {
  return bytes == 0 ? kCacheLine : (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

void SlotBuffer::fill_pattern(std::uint64_t seed) {
  for (std::size_t i = 0; i < slots_; ++i)
    memory_.fill_pattern(slot(i), bytes_, slot_seed(seed, i));
}

void SlotBuffer::fill_inverse(std::uint64_t seed) {
  for (std::size_t i = 0; i < slots_; ++i)
    memory_.fill_inverse(slot(i), bytes_, slot_seed(seed, i));
}

std::optional<Mismatch> SlotBuffer::find_mismatch(std::uint64_t seed) const {
  for (std::size_t i = 0; i < slots_; ++i)
    if (auto bad = memory_.find_mismatch(slot(i), bytes_, slot_seed(seed, i))) return bad;
  return std::nullopt;
}

}  // namespace nearpeak
