// SPDX-License-Identifier: Apache-2.0
// How far from each other the CPUs are on which the members of a group run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "group/group.hpp"

namespace nearpeak {

// A hypervisor moves virtual CPUs: from one case to another two of them may be threads of one core,
// or on different chips.
class CpuDistances {
 public:
  explicit CpuDistances(Group& group);  // collective, as measure() is
  ~CpuDistances();

  // For each rank but the last: nanoseconds in which a cache line goes from it to the next rank and
  // back, the median of a few batches. None where they are of different hosts, may not map each
  // other's memory (another container or user), or did not answer in time, twice (they share a
  // CPU).
  std::vector<std::optional<double>> measure();

 private:
  class Page;
  std::vector<double> tell();
  double trips(std::size_t first);  // nan: none

  Group& group_;
  std::unique_ptr<Page> own_;
  std::unique_ptr<Page> before_;  // of the rank before this one
  std::vector<char> reached_;     // of each rank: how often it may still miss; 0 where it has none
};

}  // namespace nearpeak
