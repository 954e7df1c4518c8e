// SPDX-License-Identifier: Apache-2.0
// The one clock that everything is timed with.
#pragma once

#include <cstdint>
#include <ctime>

namespace nearpeak {

class Group;

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

// What this rank's clock is ahead of the leader's, and how long it takes to tell all ranks
// something. On one host the clocks are the same; between hosts the offset is that of the quickest
// of some rounds, and off by half such a round at most (Cristian 1989).
struct CommonClock {
  std::int64_t ahead_ns;
  std::int64_t telling_ns;
};

CommonClock measure_common_clock(Group& group);

}  // namespace nearpeak
