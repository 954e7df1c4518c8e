// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "mpi/benchmark.hpp"
#include "mpi/probe.hpp"

namespace nearpeak {
namespace {

std::vector<Benchmark>& registry() {
  static std::vector<Benchmark> all;
  return all;
}

}  // namespace

Register::Register(BenchmarkInfo info, MakeCase make) {
  auto& all = registry();
  const auto place = std::find_if(all.begin(), all.end(), [&info](const Benchmark& other) {
    return other.info.name > info.name;
  });
  all.insert(place, Benchmark{std::move(info), make});
}

const std::vector<Benchmark>& benchmarks() { return registry(); }

std::string describe() {
  nlohmann::ordered_json out;
  out["schema"] = 1;
  out["program"] = "nearpeak-mpi";
  out["version"] = kVersion;
  out["benchmarks"] = nlohmann::ordered_json::array();
  for (const Benchmark& benchmark : benchmarks()) {
    const BenchmarkInfo& info = benchmark.info;
    nlohmann::ordered_json entry;
    entry["name"] = info.name;
    entry["summary"] = info.summary;
    entry["ranks"] = info.ranks;
    entry["smallest"] = info.smallest;
    entry["metric"] = info.metric;
    entry["unit"] = info.unit;
    entry["better"] = info.better;
    entry["symmetric"] = info.symmetric;
    entry["operations"] = info.operations;
    entry["axes"] = nlohmann::ordered_json::array();
    for (const Axis& axis : info.axes)
      entry["axes"].push_back({{"name", axis.name},
                               {"values", axis.values},
                               {"default", axis.values.front()},
                               {"summary", axis.summary}});
    out["benchmarks"].push_back(entry);
  }
  out["operations"] = nlohmann::ordered_json::array();
  for (const ProbeOperationInfo& info : probe_operations())
    out["operations"].push_back({{"name", info.name}, {"summary", info.summary}});
  return out.dump(2);
}

}  // namespace nearpeak
