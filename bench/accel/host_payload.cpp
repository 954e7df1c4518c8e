// SPDX-License-Identifier: Apache-2.0
#include "accel/host_payload.hpp"

#include <algorithm>
#include <vector>

namespace nearpeak {
namespace {

constexpr std::size_t kPartBytes = std::size_t{4} << 20;

}  // namespace

// Words of the pattern are numbered: the part that begins at word n is the pattern of seed + n.
void fill_through_host(Device& device, void* target, std::size_t bytes, std::uint64_t seed,
                       std::uint64_t flip) {
  std::vector<char> host(std::min(bytes, kPartBytes));
  for (std::size_t done = 0; done < bytes; done += kPartBytes) {
    const std::size_t part = std::min(bytes - done, kPartBytes);
    const auto host_fill = flip == 0 ? fill_pattern : fill_inverse;
    host_fill(host.data(), part, seed + done / 8);
    device.copy(static_cast<char*>(target) + done, host.data(), part);
  }
}

std::optional<Mismatch> find_mismatch_through_host(Device& device, const void* data,
                                                   std::size_t bytes, std::uint64_t seed) {
  std::vector<char> host(std::min(bytes, kPartBytes));
  for (std::size_t done = 0; done < bytes; done += kPartBytes) {
    const std::size_t part = std::min(bytes - done, kPartBytes);
    device.copy(host.data(), static_cast<const char*>(data) + done, part);
    if (auto wrong = find_mismatch(host.data(), part, seed + done / 8)) {
      wrong->byte += done;
      return wrong;
    }
  }
  return std::nullopt;
}

}  // namespace nearpeak
