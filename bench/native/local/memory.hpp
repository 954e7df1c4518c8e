// SPDX-License-Identifier: Apache-2.0
// Memory of one NUMA node, copied and computed with by threads of given CPUs.
#pragma once

#include <optional>
#include <vector>

#include "native/mode.hpp"

namespace nearpeak {

struct MemoryOptions : ModeOptions {  // `cpus`: one thread each
  std::optional<int> node{};          // of the memory; without it each thread's own
};

// Bytes of an array that no cache holds: four times the last-level cache, and at least 64 MiB.
std::size_t uncached_bytes();

// Returns the exit status. Throws BadInput and std::runtime_error.
int run_memory(const MemoryOptions& options);

}  // namespace nearpeak
