// SPDX-License-Identifier: Apache-2.0
// Processes of one host that measure together: their CPUs and their end.
#pragma once

#include <functional>
#include <stdexcept>
#include <vector>

#include "group/shared.hpp"

namespace nearpeak {

// Throws BadInput where this process may not use one of the CPUs, of one process each; says on
// stderr where several share one.
void check_cpus(const std::vector<int>& cpus);

// Binds the calling thread to one CPU and looks whether it came to be. Memory that it writes first
// from now on is on that CPU's NUMA node. Throws std::runtime_error.
void bind_to_cpu(int cpu);

// Runs body() as this rank; the exit status, where it throws with one line on stderr that says why.
int run_rank(int rank, const std::function<int()>& body);

// Runs body(group) in a forked process for each CPU, bound to it, which ends with its parent, and
// waits for them; where a CPU is named twice its processes yield to each other. When one fails or
// dies the others are ended; when the group has not met for `stall_s` seconds all are. Returns
// kGood, or what a process returned, or kFailed, with one line on stderr that says why.
int run_group(const std::vector<int>& cpus, double stall_s,
              const std::function<int(SharedGroup&)>& body);

}  // namespace nearpeak
