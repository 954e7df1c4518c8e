// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

SlotLayout SlotBuffer::part_of(std::size_t first, std::size_t count) const {
  return {.bytes = layout_.bytes,
          .stride = layout_.stride,
          .count = std::min(count, layout_.count - first)};
}

void SlotBuffer::fill(const Payload& payload, Part part, std::size_t first, std::size_t count) {
  const Payload own{payload.seed + slot_seed(first), payload.round};
  memory_.fill(slot(first), part_of(first, count), own, part);
}

void SlotBuffer::poison(std::uint64_t seed, std::size_t first, std::size_t count) {
  memory_.poison(slot(first), part_of(first, count), seed + slot_seed(first));
}

std::optional<Mismatch> SlotBuffer::find_mismatch(const Payload& payload, Part part,
                                                  std::size_t first, std::size_t count) const {
  const Payload own{payload.seed + slot_seed(first), payload.round};
  auto bad = memory_.find_mismatch(slot(first), part_of(first, count), own, part);
  if (bad) bad->slot += first;
  return bad;
}

}  // namespace nearpeak
