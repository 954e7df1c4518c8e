// SPDX-License-Identifier: Apache-2.0
// The one clock that everything is timed with.
#pragma once

#include <cstdint>
#include <ctime>

namespace nearpeak {

// Nanoseconds of the monotonic clock, which all processes of a host share.
inline std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// What the clock can resolve, and what asking it costs.
struct ClockQuality {
  double tick_ns;  // smallest step seen between two readings
  double read_ns;  // mean time of one reading
};

ClockQuality measure_clock();

}  // namespace nearpeak
