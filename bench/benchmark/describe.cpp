// SPDX-License-Identifier: Apache-2.0
#include "benchmark/describe.hpp"

#include <nlohmann/json.hpp>

namespace nearpeak {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Metric>& metrics) {
  Json out = Json::array();
  for (const Metric& metric : metrics)
    out.push_back({{"name", metric.name}, {"unit", metric.unit}, {"better", metric.better}});
  return out;
}

Json to_json(const std::vector<Axis>& axes) {
  Json out = Json::array();
  for (const Axis& axis : axes)
    out.push_back({{"name", axis.name},
                   {"values", axis.values},
                   {"default", axis.default_of(true)},
                   {"host_only", axis.host_only},
                   {"usual", axis.usual},
                   {"implied", axis.implied},
                   {"summary", axis.summary}});
  return out;
}

Json to_json(const std::optional<Traffic>& traffic) {
  if (!traffic) return nullptr;
  return {{"once", traffic->once},
          {"times_ranks", traffic->times_ranks},
          {"by_ranks", traffic->by_ranks}};
}

Json to_json(OneSided way) {
  if (way == OneSided::kNo) return nullptr;
  return way == OneSided::kGet ? "get" : "put";
}

Json to_json(const DescribedBenchmark& described) {
  const BenchmarkInfo& info = described.benchmark.info;
  return {{"name", info.name},
          {"family", info.family},
          {"summary", info.summary},
          {"ranks", {{"rule", info.ranks.name()}, {"count", info.ranks.count}}},
          {"smallest", info.smallest},
          {"largest", info.largest != 0 ? Json(info.largest) : Json(nullptr)},
          {"sized", info.sized},
          {"metrics", to_json(info.metrics)},
          {"symmetric", info.symmetric},
          {"x", {{"name", info.x.name}, {"unit", info.x.unit}, {"usual", info.x.usual}}},
          {"moves", {{"ways", info.moves.ways}, {"window", info.moves.window}}},
          {"traffic", to_json(info.traffic)},
          {"least", to_json(info.least)},
          {"covered_by", info.covered_by},
          {"bound", info.bound ? Json(*info.bound) : Json(nullptr)},
          {"bound_by", info.bound_by.empty() ? Json(nullptr) : Json(info.bound_by)},
          {"one_sided", to_json(info.one_sided)},
          {"ceiling", described.benchmark.ceiling()},
          {"default", info.usual},
          {"threads", info.threads},
          {"axes", to_json(described.axes)}};
}

Json to_json(const DescribedMode& mode) {
  return {{"name", mode.name},
          {"summary", mode.summary},
          {"metrics", to_json(mode.metrics)},
          {"axes", to_json(mode.axes)}};
}

Json to_json(const DescribedOperation& operation) {
  return {{"name", operation.name},
          {"family", operation.family},
          {"summary", operation.summary},
          {"on_devices", operation.on_devices}};
}

Json to_json(const AllocatorInfo& allocator) {
  return {{"name", allocator.name},
          {"buffers", std::string(1, buffer_letter(allocator.kind))},
          {"summary", allocator.summary}};
}

template <class Entry>
void add(Json& out, const char* name, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) out[name].push_back(to_json(entry));
}

}  // namespace

std::vector<Axis> common_axes(const CommonOptions& options) {
  return {{kReuse, options.reuses,
           "buffers of the messages of a window; fixed: one for each; single: one for all; "
           "rotating: more than the caches hold, in turn"},
          {kTouch, options.touches,
           "sender: the sender writes to its data before it sends, within the measured time"}};
}

std::string to_json(const Description& description) {
  Json out{{"schema", 3}, {"program", description.program}, {"version", kVersion}};
  add(out, "modes", description.modes);
  add(out, "benchmarks", description.benchmarks);
  add(out, "operations", description.operations);
  add(out, "allocators", description.allocators);
  return out.dump(2);
}

}  // namespace nearpeak
