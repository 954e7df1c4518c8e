// SPDX-License-Identifier: Apache-2.0
#include "benchmark/benchmark.hpp"

#include <algorithm>
#include <filesystem>

namespace nearpeak {
namespace {

std::vector<Benchmark>& registry() {
  static std::vector<Benchmark> all;
  return all;
}

}  // namespace

const std::string& Axis::default_of(bool host) const {
  return *std::find_if(values.begin(), values.end(), [&](const std::string& value) {
    return host || std::find(host_only.begin(), host_only.end(), value) == host_only.end();
  });
}

bool RankRule::fits(int ranks) const {
  switch (kind) {
    case Kind::kExactly:
      return ranks == count;
    case Kind::kAtLeast:
      return ranks >= count;
    case Kind::kEven:
      return ranks >= count && ranks % 2 == 0;
  }
  return false;
}

std::string RankRule::name() const {
  switch (kind) {
    case Kind::kExactly:
      return "exactly";
    case Kind::kAtLeast:
      return "at least";
    default:
      return "even";
  }
}

std::string RankRule::text() const {
  const std::string number = std::to_string(count);
  switch (kind) {
    case Kind::kExactly:
      return number + " ranks";
    case Kind::kAtLeast:
      return "at least " + number + " ranks";
    default:
      return "an even number of ranks, at least " + number;
  }
}

Register::Register(Benchmark benchmark, std::source_location file) {
  if (benchmark.info.family.empty())
    benchmark.info.family =
        std::filesystem::path(file.file_name()).parent_path().filename().string();
  auto& all = registry();
  const auto place = std::find_if(all.begin(), all.end(), [&](const Benchmark& other) {
    return other.info.name > benchmark.info.name;
  });
  all.insert(place, std::move(benchmark));
}

Register::Register(std::vector<Benchmark> all, std::source_location file) {
  for (Benchmark& benchmark : all) Register(std::move(benchmark), file);
}

const std::vector<Benchmark>& benchmarks() { return registry(); }

const Benchmark* benchmark_named(const std::string& name) {
  const auto& all = benchmarks();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Benchmark& benchmark) {
    return benchmark.info.name == name;
  });
  return found == all.end() ? nullptr : &*found;
}

const Benchmark& find_benchmark(const std::string& name) {
  if (const Benchmark* const found = benchmark_named(name)) return *found;
  std::vector<std::string> known;
  for (const Benchmark& benchmark : benchmarks()) {
    if ("osu_" + benchmark.info.name == name)
      throw BadInput("OMB's " + name + " is called " + benchmark.info.name + " here");
    known.push_back(benchmark.info.name);
  }
  throw BadInput("unknown benchmark '" + name + "': give one of " + comma_list(known));
}

}  // namespace nearpeak
