// SPDX-License-Identifier: Apache-2.0
#include "sampling/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "group/group.hpp"

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

CommonClock measure_common_clock(Group& group) {
  constexpr int kRounds = 100;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const auto hosts = group.gather(std::string(host));
  const bool one_host = std::all_of(hosts.begin(), hosts.end(),
                                    [&](const std::string& each) { return each == hosts[0]; });
  struct Round {
    std::int64_t begin, end;
  };
  CommonClock best{0, std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < kRounds; ++i) {
    group.barrier();
    Round leaders{now_ns(), 0};
    group.broadcast<char>(0);
    const std::int64_t mine = now_ns();  // after the leader's begin,
    group.gather(mine);                  // and before its end
    leaders.end = now_ns();
    leaders = group.broadcast(leaders);
    if (leaders.end - leaders.begin >= best.telling_ns) continue;
    best.telling_ns = leaders.end - leaders.begin;
    best.ahead_ns = mine - leaders.begin - best.telling_ns / 2;
  }
  if (one_host) best.ahead_ns = 0;
  return best;
}

}  // namespace nearpeak
