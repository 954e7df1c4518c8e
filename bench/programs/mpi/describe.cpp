// SPDX-License-Identifier: Apache-2.0
#include "benchmark/describe.hpp"

#include "accel/allocators.hpp"
#include "programs/mpi/command.hpp"
#include "programs/mpi/probe_operations.hpp"

namespace nearpeak {

std::string describe() {
  Description out{.program = "nearpeak-mpi"};
  for (const Benchmark& benchmark : benchmarks())
    out.benchmarks.push_back({benchmark, axes_of(benchmark)});
  for (const ProbeOperation& operation : probe_operations()) {
    const BenchmarkInfo& info = operation.benchmark.info;
    out.operations.push_back({info.name, info.family, info.summary, operation.on_devices});
  }
  out.allocators = allocators();
  return to_json(out);
}

}  // namespace nearpeak
