// SPDX-License-Identifier: Apache-2.0
// Benchmarks as --describe tells of them (docs/describe.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// The axes that CommonOptions has for every benchmark.
std::vector<Axis> common_axes(const CommonOptions& options = {});

// Its schema, the program's name and version; the lists are the caller's to add.
nlohmann::ordered_json describe_program(const std::string& program);
nlohmann::ordered_json to_json(const BenchmarkInfo& info, const std::vector<Axis>& axes,
                               bool has_ceiling);
nlohmann::ordered_json to_json(const std::vector<Metric>& metrics);
nlohmann::ordered_json to_json(const std::vector<Axis>& axes);

}  // namespace nearpeak
