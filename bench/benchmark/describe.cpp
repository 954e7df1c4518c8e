// SPDX-License-Identifier: Apache-2.0
#include "benchmark/describe.hpp"

namespace nearpeak {

using Json = nlohmann::ordered_json;

std::vector<Axis> common_axes(const CommonOptions& options) {
  return {{kReuse, options.reuses,
           "which buffers the messages of a window are in: one for each; a single one for all; "
           "more than the caches hold, in turn"},
          {kTouch, options.touches, "whether the sender writes what it sends, within the time"}};
}

Json describe_program(const std::string& program) {
  return {{"schema", 2}, {"program", program}, {"version", kVersion}};
}

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
                   {"default", axis.values.front()},
                   {"summary", axis.summary}});
  return out;
}

Json to_json(const BenchmarkInfo& info, const std::vector<Axis>& axes, bool has_ceiling) {
  return {{"name", info.name},
          {"summary", info.summary},
          {"ranks", {{"rule", info.ranks.name()}, {"count", info.ranks.count}}},
          {"smallest", info.smallest},
          {"metrics", to_json(info.metrics)},
          {"symmetric", info.symmetric},
          {"ceiling", has_ceiling},
          {"axes", to_json(axes)}};
}

}  // namespace nearpeak
