// SPDX-License-Identifier: Apache-2.0
#include "native/mode.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nearpeak {
namespace {

std::vector<Mode*>& registry() {
  static std::vector<Mode*> all;
  return all;
}

}  // namespace

RegisterMode::RegisterMode(Mode& mode) { registry().push_back(&mode); }

std::vector<Mode*> modes() {
  auto all = registry();
  std::sort(all.begin(), all.end(),
            [](const Mode* a, const Mode* b) { return a->info().name < b->info().name; });
  return all;
}

std::string describe_modes() {
  using Json = nlohmann::ordered_json;
  Json out;
  out["schema"] = 1;
  out["program"] = "nearpeak-native";
  out["version"] = kVersion;
  out["modes"] = Json::array();
  for (const Mode* mode : modes()) {
    const ModeInfo& info = mode->info();
    if (info.metrics.empty()) continue;  // measures nothing
    Json entry;
    entry["name"] = info.name;
    entry["summary"] = info.summary;
    entry["metrics"] = Json::array();
    for (const Metric& metric : info.metrics)
      entry["metrics"].push_back(
          {{"name", metric.name}, {"unit", metric.unit}, {"better", metric.better}});
    entry["axes"] = Json::array();
    for (const ModeAxis& axis : info.axes)
      entry["axes"].push_back(
          {{"name", axis.name}, {"values", axis.values}, {"default", axis.values.front()}});
    out["modes"].push_back(entry);
  }
  return out.dump(2);
}

void check_name(const std::string& name, const std::vector<std::string>& known,
                const std::string& kind) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string all;
  for (const auto& each : known) all += (all.empty() ? "" : ", ") + each;
  throw BadInput("unknown " + kind + " '" + name + "': give some of " + all);
}

void check_writable(const std::string& path) {
  if (path.empty()) return;
  try {
    const RecordWriter writer(path);
  } catch (const std::runtime_error& error) {
    throw BadInput(std::string(error.what()) + ": give another file to --jsonl");
  }
}

}  // namespace nearpeak
