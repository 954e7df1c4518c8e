// SPDX-License-Identifier: Apache-2.0
// Benchmarks as --describe tells of them (docs/reference/describe.md).
#pragma once

#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// The axes that CommonOptions has for every benchmark.
std::vector<Axis> common_axes(const CommonOptions& options = {});

struct DescribedMode {
  std::string name;
  std::string summary;
  std::vector<Metric> metrics;
  std::vector<Axis> axes;
};

struct DescribedBenchmark {
  const Benchmark& benchmark;
  std::vector<Axis> axes;  // all of them
};

struct DescribedOperation {
  std::string name;
  std::string family;
  std::string summary;
  bool on_devices;  // some rank's buffers must be there
};

// What a program can do; of modes and operations a program has one.
struct Description {
  std::string program;
  std::vector<DescribedMode> modes{};
  std::vector<DescribedBenchmark> benchmarks{};
  std::vector<DescribedOperation> operations{};
  std::vector<AllocatorInfo> allocators{};
};

std::string to_json(const Description& description);

}  // namespace nearpeak
