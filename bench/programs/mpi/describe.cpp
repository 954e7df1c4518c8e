// SPDX-License-Identifier: Apache-2.0
#include "benchmark/describe.hpp"

#include "accel/allocators.hpp"
#include "programs/mpi/command.hpp"
#include "programs/mpi/probe.hpp"

namespace nearpeak {

std::string describe() {
  Description out{.program = "nearpeak-mpi"};
  for (const Benchmark& benchmark : benchmarks())
    out.benchmarks.push_back({benchmark, axes_of(benchmark)});
  for (const ProbeOperationInfo& info : probe_operations())
    out.operations.push_back({info.name, info.summary});
  out.allocators = allocators();
  return to_json(out);
}

}  // namespace nearpeak
