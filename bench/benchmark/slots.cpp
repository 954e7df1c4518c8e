// SPDX-License-Identifier: Apache-2.0
#include "benchmark/slots.hpp"

#include <algorithm>

namespace nearpeak {

std::uint64_t rotating_windows(std::size_t bytes, std::uint64_t window, std::uint64_t cache_bytes,
                               std::size_t slot_bytes) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  const std::uint64_t each = std::max<std::uint64_t>(bytes, 64) * window;
  const std::uint64_t wanted = 2 * cache_bytes / each + 1;
  const std::uint64_t most = kMostBytes / std::max<std::uint64_t>(each, slot_bytes * window);
  return std::max<std::uint64_t>(2, std::min(wanted, most));
}

std::uint64_t slots_for(const CaseContext& context, std::uint64_t window) {
  const std::string& reuse = context.axis(kReuse);
  if (reuse == "single") return 1;
  if (reuse == "fixed") return window;
  return window * rotating_windows(context.bytes, window, context.cache_bytes);
}

std::size_t slots_for_one(const CaseContext& context, std::size_t bytes, std::size_t slot_bytes) {
  if (context.axis(kReuse) != "rotating") return 1;
  return rotating_windows(bytes, 1, context.cache_bytes, slot_bytes);
}

}  // namespace nearpeak
