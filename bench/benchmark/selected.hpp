// SPDX-License-Identifier: Apache-2.0
// Benchmarks as a command line names them, one after the other, each with options of its own.
#pragma once

#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// One benchmark with a value for each of its axes.
struct Selected {
  const Benchmark* benchmark = nullptr;
  Axes axes;
  std::vector<std::size_t> sizes;  // in the order of measurement
};

// "allreduce: time until ...; type float"
std::string title(const Selected& selected);

// An option for each axis but those that CommonOptions has; `given` has the values that were given,
// and empty ones.
void add_axes(CLI::App& command, const std::vector<Axis>& axes, Axes& given);

// A value for each axis: what was given, or else the default for such buffers, all of them in
// ordinary host memory or not; `common` has reuse and touch.
Axes values_of(const std::vector<Axis>& axes, Axes given, bool host, const CommonOptions& common);

// "bw needs sizes of at least 1 B"
std::string needed_sizes(const BenchmarkInfo& info);

// The sizes of a benchmark. Throws BadInput where none is left.
std::vector<std::size_t> sizes_of(const BenchmarkInfo& info, const CommonOptions& common);

}  // namespace nearpeak
