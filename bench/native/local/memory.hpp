// SPDX-License-Identifier: Apache-2.0
// Memory of one NUMA node, copied and computed with by threads of given CPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "native/mode.hpp"

namespace nearpeak {

struct MemoryOptions {
  CommonOptions common;
  std::vector<int> cpus;  // one thread each
  std::vector<Metric> metrics;
  std::optional<int> node;  // of the memory; without it each thread's own
  bool probe = true;
};

const std::vector<Metric>& memory_metrics();  // copy, triad

// Bytes of an array that no cache holds: four times the last-level cache, and at least 64 MiB.
std::size_t uncached_bytes();

// Returns the exit status. Throws BadInput and std::runtime_error.
int run_memory(const MemoryOptions& options);

}  // namespace nearpeak
