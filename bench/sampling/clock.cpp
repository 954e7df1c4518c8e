// SPDX-License-Identifier: Apache-2.0
#include "sampling/clock.hpp"

#include <algorithm>
#include <limits>

namespace nearpeak {

ClockQuality measure_clock() {
  constexpr int kReadings = 20'000;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t begin = now_ns();
  std::int64_t previous = begin;
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t next = now_ns();
    if (next > previous) smallest = std::min(smallest, next - previous);
    previous = next;
  }
  return {static_cast<double>(smallest), static_cast<double>(previous - begin) / kReadings};
}

}  // namespace nearpeak
