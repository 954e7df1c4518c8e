// SPDX-License-Identifier: Apache-2.0
#include "accel/memory.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

SlotBuffer::SlotBuffer(Memory& memory, std::size_t bytes, std::size_t slots, std::size_t offset)
    : memory_(memory),
      layout_{.bytes = bytes, .stride = stride(bytes), .count = slots},
      offset_(offset),
      base_(static_cast<char*>(memory.allocate(layout_.stride * slots + offset)) + offset) {}

std::size_t SlotBuffer::stride(std::size_t bytes) {
  return bytes == 0 ? kCacheLine : (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

void SlotBuffer::fill(const Payload& payload, Part part) {
  memory_.fill(base_, layout_, payload, part);
}

void SlotBuffer::spoil(std::uint64_t seed) { memory_.spoil(base_, layout_, seed); }

std::optional<Mismatch> SlotBuffer::find_mismatch(const Payload& payload, Part part) const {
  return memory_.find_mismatch(base_, layout_, payload, part);
}

}  // namespace nearpeak
