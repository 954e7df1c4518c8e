// SPDX-License-Identifier: Apache-2.0
// The operations between two ranks that no benchmark is made of, in the form of benchmarks, so that
// they are verified alike. They are never timed.
#pragma once

#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

struct ProbeOperation {
  Benchmark benchmark;
  bool on_devices = false;  // it takes buffers of at least one rank on a device
};

// In the order in which they are tried.
const std::vector<ProbeOperation>& probe_operations();

}  // namespace nearpeak
