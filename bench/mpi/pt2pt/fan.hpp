// SPDX-License-Identifier: Apache-2.0
// Windows of messages between rank 0 and every other rank at once, all in one direction.
#pragma once

#include <string>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

enum class Fan { kIn, kOut };  // to rank 0, or from it

// `name`: of the benchmark and of its bandwidth. Its second metric is `rate`, of messages.
Benchmark fan_benchmark(Fan fan, const std::string& name, const std::string& rate,
                        const std::string& summary);

}  // namespace nearpeak
