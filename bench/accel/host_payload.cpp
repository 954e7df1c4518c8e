// SPDX-License-Identifier: Apache-2.0
#include "accel/host_payload.hpp"

#include <algorithm>
#include <vector>

namespace nearpeak {
namespace {

constexpr std::size_t kPartBytes = std::size_t{4} << 20;

// Calls use(first slot, layout of these, their bytes, where they are) for some whole slots after
// the other, until it returns false.
template <class Use>
void for_parts(char* base, const SlotLayout& layout, Use use) {
  if (layout.count == 0 || layout.stride == 0) return;
  const std::size_t each = std::max<std::size_t>(1, kPartBytes / layout.stride);
  std::vector<char> host(std::min(each, layout.count) * layout.stride);
  for (std::size_t first = 0; first < layout.count; first += each) {
    const SlotLayout part{.bytes = layout.bytes,
                          .stride = layout.stride,
                          .count = std::min(each, layout.count - first)};
    const std::size_t bytes = part.count * part.stride;
    if (!use(first, part, host.data(), base + first * layout.stride, bytes)) return;
  }
}

std::uint64_t seed_from(std::uint64_t seed, std::size_t first) {
  return seed + (static_cast<std::uint64_t>(first) << 32);
}

}  // namespace

void fill_through_host(Device& device, void* base, const SlotLayout& layout, const Payload& payload,
                       Part part) {
  for_parts(
      static_cast<char*>(base), layout,
      [&](std::size_t first, const SlotLayout& slots, char* host, char* there, std::size_t bytes) {
        device.copy(host, there, bytes);  // gaps, and what is no stamp, stay
        fill(host, slots, {seed_from(payload.seed, first), payload.round}, part);
        device.copy(there, host, bytes);
        return true;
      });
}

void poison_through_host(Device& device, void* base, const SlotLayout& layout, std::uint64_t seed) {
  for_parts(
      static_cast<char*>(base), layout,
      [&](std::size_t first, const SlotLayout& slots, char* host, char* there, std::size_t bytes) {
        poison(host, slots, seed_from(seed, first));
        device.copy(there, host, bytes);
        return true;
      });
}

std::optional<Mismatch> find_mismatch_through_host(Device& device, const void* base,
                                                   const SlotLayout& layout, const Payload& payload,
                                                   Part part) {
  std::optional<Mismatch> wrong;
  for_parts(
      const_cast<char*>(static_cast<const char*>(base)), layout,
      [&](std::size_t first, const SlotLayout& slots, char* host, char* there, std::size_t bytes) {
        device.copy(host, there, bytes);
        wrong = find_mismatch(host, slots, {seed_from(payload.seed, first), payload.round}, part);
        if (wrong) wrong->slot += first;
        return !wrong;
      });
  return wrong;
}

}  // namespace nearpeak
