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

// How long something may still take, by the leader's clock.
class Patience {
 public:
  Patience(Group& group, double us)
      : group_(group), until_(now_ns() + static_cast<std::int64_t>(1e3 * us)) {}

  double left_us() const { return static_cast<double>(until_ - now_ns()) / 1e3; }
  // Whether it is as long as that, on every rank alike. Collective.
  bool lasts(double us = 0) const { return group_.broadcast(left_us() > us ? 1 : 0) != 0; }

 private:
  Group& group_;
  const std::int64_t until_;
};

// Of `count` trials the median, on the slowest rank; of at least one, where there is no patience
// for all of them. Collective.
template <class Action>
double slowest_us(Group& group, int count, const Patience& patience, Action action) {
  std::vector<double> trials;
  do {
    trials.push_back(timed_ns(group, action) / 1e3);
  } while (static_cast<int>(trials.size()) < count && patience.lasts());
  return group.largest(median(trials));
}

}  // namespace nearpeak
