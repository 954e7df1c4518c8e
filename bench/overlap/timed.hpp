// SPDX-License-Identifier: Apache-2.0
// How long something takes that all ranks begin together.
#pragma once

#include <vector>

#include "group/group.hpp"
#include "sampling/clock.hpp"
#include "sampling/sampler.hpp"

namespace nearpeak {

// Of this rank, from the moment that a barrier ends. Collective.
template <class Action>
double timed_ns(Group& group, Action action) {
  group.barrier();
  const std::int64_t begin = now_ns();
  action();
  return static_cast<double>(now_ns() - begin);
}

// Of `count` trials the median, on the slowest rank. Collective.
template <class Action>
double slowest_us(Group& group, int count, Action action) {
  std::vector<double> trials;
  for (int i = 0; i < count; ++i) trials.push_back(timed_ns(group, action) / 1e3);
  return group.largest(median(trials));
}

}  // namespace nearpeak
