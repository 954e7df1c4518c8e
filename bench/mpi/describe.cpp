// SPDX-License-Identifier: Apache-2.0
#include "benchmark/describe.hpp"

#include "mpi/command.hpp"
#include "mpi/probe.hpp"

namespace nearpeak {

std::string describe() {
  auto out = describe_program("nearpeak-mpi");
  out["benchmarks"] = nlohmann::ordered_json::array();
  for (const Benchmark& benchmark : benchmarks())
    out["benchmarks"].push_back(
        to_json(benchmark.info, axes_of(benchmark), benchmark.over_transport()));
  out["operations"] = nlohmann::ordered_json::array();
  for (const ProbeOperationInfo& info : probe_operations())
    out["operations"].push_back({{"name", info.name}, {"summary", info.summary}});
  return out.dump(2);
}

}  // namespace nearpeak
