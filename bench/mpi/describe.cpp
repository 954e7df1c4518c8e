// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "mpi/command.hpp"
#include "mpi/probe.hpp"

namespace nearpeak {

std::string describe() {
  using Json = nlohmann::ordered_json;
  Json out;
  out["schema"] = 2;
  out["program"] = "nearpeak-mpi";
  out["version"] = kVersion;
  out["benchmarks"] = Json::array();
  for (const Benchmark& benchmark : benchmarks()) {
    const BenchmarkInfo& info = benchmark.info;
    Json entry;
    entry["name"] = info.name;
    entry["summary"] = info.summary;
    entry["ranks"] = {{"rule", info.ranks.name()}, {"count", info.ranks.count}};
    entry["smallest"] = info.smallest;
    entry["metrics"] = Json::array();
    for (const Metric& metric : info.metrics)
      entry["metrics"].push_back(
          {{"name", metric.name}, {"unit", metric.unit}, {"better", metric.better}});
    entry["symmetric"] = info.symmetric;
    entry["ceiling"] = benchmark.over_transport();
    entry["axes"] = Json::array();
    for (const Axis& axis : axes_of(benchmark))
      entry["axes"].push_back({{"name", axis.name},
                               {"values", axis.values},
                               {"default", axis.values.front()},
                               {"summary", axis.summary}});
    out["benchmarks"].push_back(entry);
  }
  out["operations"] = Json::array();
  for (const ProbeOperationInfo& info : probe_operations())
    out["operations"].push_back({{"name", info.name}, {"summary", info.summary}});
  return out.dump(2);
}

}  // namespace nearpeak
