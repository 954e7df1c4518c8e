// SPDX-License-Identifier: Apache-2.0
// Memory of one NUMA node, copied and computed with by threads of given CPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "programs/native/mode.hpp"

namespace nearpeak {

// In bytes. No message that MPI would count; what the addresses of a process reach.
inline constexpr std::size_t kLargestArray = std::size_t{1} << 46;

struct MemoryOptions : ModeOptions {  // `cpus`: one thread each
  std::optional<int> node{};          // of the memory; without it each thread's own

  MemoryOptions() { common.largest = kLargestArray; }
};

// Bytes of the last-level caches that these CPUs have together; 32 MiB where the kernel does not
// say. `folder`: where it says it.
std::uint64_t last_level_bytes(const std::vector<int>& cpus,
                               const std::string& folder = "/sys/devices/system/cpu");

// Bytes of an array that no cache holds: four times these caches, as STREAM's rule is, and at least
// 64 MiB; less where three of them take more than half of the memory that is available.
std::size_t uncached_bytes(std::uint64_t cache_bytes, std::uint64_t available);

// Returns the exit status. Throws BadInput and std::runtime_error.
int run_memory(const MemoryOptions& options);

}  // namespace nearpeak
