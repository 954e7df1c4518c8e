// SPDX-License-Identifier: Apache-2.0
#include "programs/native/mode.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "benchmark/selected.hpp"
#include "benchmark/slots.hpp"

namespace nearpeak {
namespace {

std::vector<std::function<std::unique_ptr<Mode>()>>& registry() {
  static std::vector<std::function<std::unique_ptr<Mode>()>> all;
  return all;
}

}  // namespace

void register_mode(std::function<std::unique_ptr<Mode>()> make) {
  registry().push_back(std::move(make));
}

std::vector<std::unique_ptr<Mode>> modes() {
  std::vector<std::unique_ptr<Mode>> all;
  for (const auto& make : registry()) all.push_back(make());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->name() < b->name(); });
  return all;
}

std::string describe_modes() {
  Description out{.program = "nearpeak-native"};
  for (const auto& mode : modes())
    if (!mode->metrics().empty())
      out.modes.push_back({mode->name(), mode->summary(), mode->metrics(), mode->axes()});
  // What --as-library records.
  for (const Benchmark& benchmark : benchmarks()) {
    std::vector<Axis> axes = benchmark.info.axes;
    for (Axis& axis : common_axes()) axes.push_back(std::move(axis));
    if (benchmark.over_transport()) out.benchmarks.push_back({benchmark, axes});
  }
  return to_json(out);
}

bool wanted(const std::vector<std::string>& asked, const std::string& name) {
  return asked.empty() || std::find(asked.begin(), asked.end(), name) != asked.end();
}

void ModeOptions::add_to(CLI::App& app, const std::string& metrics_help,
                         const std::string& cpus_help) {
  common.add_to(app);
  // An empty list is a list, of a name that nobody knows.
  const auto list = [](std::vector<std::string>& into) {
    return [&into](const std::string& text) { into = split(text); };
  };
  if (!cpus_help.empty())
    app.add_option_function<std::string>(
        "--cpus", [this](const std::string& text) { cpus = parse_cpus(text); }, cpus_help);
  app.add_option_function<std::string>("--metrics", list(metrics), "only these: " + metrics_help);
  app.add_option_function<std::string>("--methods", list(methods),
                                       "only these: see docs/methods/ceilings.md");
  app.add_flag("--as-library", as_library,
               "record only the best method, as if it were a library under test");
}

void ModeOptions::add_plateau(CLI::App& app) {
  app.add_option_function<std::string>(
      "--plateau", [this](const std::string& text) { plateau = parse_bytes(text); },
      "one more size for rates only, besides those of --sizes: 256M");
}

std::vector<std::size_t> ModeOptions::sizes_of(const BenchmarkInfo& benchmark) const {
  auto out = common.ordered_sizes();
  const bool rate = benchmark.metrics.front().better == "higher";
  if (plateau > 0 && rate && std::find(out.begin(), out.end(), plateau) == out.end())
    out.push_back(plateau);
  std::erase_if(out, [&](std::size_t bytes) { return bytes < benchmark.smallest; });
  return out;
}

void ModeOptions::check() const {
  common.ordered_sizes();
  common.window_at(1);
  if (common.jsonl.empty()) return;
  try {
    const RecordWriter writer(common.jsonl);
  } catch (const std::runtime_error& error) {
    throw BadInput(std::string(error.what()) + ": give another file to --jsonl");
  }
}

Naming ModeOptions::naming(const std::string& buffers) const {
  return {.program = "nearpeak-native",
          .contest = !as_library,
          .buffers = buffers,
          .shows_method = as_library};
}

double ModeOptions::stall_s(std::size_t method_count) const {
  constexpr double kBeside = 60;  // what takes time beside the cases
  return kBeside + 2 * common.limit_s * static_cast<double>(method_count);
}

std::vector<Metric> transport_metrics() {
  std::vector<Metric> all;
  for (const Benchmark& benchmark : benchmarks())
    if (benchmark.over_transport())
      all.insert(all.end(), benchmark.info.metrics.begin(), benchmark.info.metrics.end());
  return all;
}

std::vector<const Benchmark*> transport_benchmarks(const ModeOptions& options, int ranks) {
  std::vector<std::string> known;
  std::vector<std::string> usual;
  for (const Benchmark& benchmark : benchmarks()) {
    if (!benchmark.over_transport()) continue;
    known.push_back(benchmark.info.name);
    if (benchmark.info.usual) usual.push_back(benchmark.info.name);
  }
  const auto& names = options.metrics.empty() ? usual : options.metrics;
  check_names(names, known, "metric");
  std::vector<const Benchmark*> out;
  for (const std::string& name : names) {
    const Benchmark& found = find_benchmark(name);
    if (!found.info.ranks.fits(ranks))
      throw BadInput(name + " runs on " + found.info.ranks.text() + ", not on " +
                     std::to_string(ranks) + ": give other --metrics or --cpus");
    if (!options.metrics.empty() && options.sizes_of(found.info).empty())
      throw BadInput(needed_sizes(found.info));
    out.push_back(&found);
  }
  return out;
}

TakenDevice take_device(const std::string& text) {
  const std::size_t colon = text.find(':');
  const bool named = colon != std::string::npos;
  TakenDevice taken;
  try {
    taken.accelerator = load_accelerator(named ? text.substr(0, colon) : "");
  } catch (const BackendUnavailable& error) {
    throw BackendUnavailable(std::string("no device can be used: ") + error.what());
  }
  taken.device = &taken.accelerator->device(
      taken.accelerator->find_device(named ? text.substr(colon + 1) : text));
  return taken;
}

void open_records(Runner& runner, const std::string& heading,
                  const std::optional<RankDevice>& device) {
  RankPlace place = this_place(runner.group().rank());
  place.device = device;
  runner.open(std::nullopt, runner.group().gather(to_json(place)));
  if (runner.contest())
    runner.heading(heading);
  else if (runner.group().leads())
    runner.table().heading("ceiling: at each size the best method, which stands at the end");
  runner.group().barrier();
}

CaseContext context_of(Group& group, const ModeOptions& options, const RankSetup& setup,
                       const Benchmark& benchmark, std::size_t bytes) {
  CaseContext context{.group = group,
                      .kind = setup.kind,
                      .memory = setup.memory,
                      .device = setup.device,
                      .bytes = bytes,
                      .window = options.common.window_at(bytes),
                      .offset = 0,
                      .cache_bytes = setup.cache_bytes.value_or(options.common.cache_bytes()),
                      .most_bytes = options.common.memory_limit,
                      .axes = {{kReuse, options.common.reuse}, {kTouch, options.common.touch}},
                      .methods = setup.methods};
  for (const Axis& axis : benchmark.info.axes) context.axes[axis.name] = axis.default_of(true);
  return context;
}

std::size_t most_slot_bytes(const ModeOptions& options, const std::vector<const Benchmark*>& asked,
                            std::optional<std::uint64_t> cache_bytes) {
  Alone alone;
  std::size_t most = 0;
  for (const Benchmark* benchmark : asked)
    for (const std::size_t bytes : options.sizes_of(benchmark->info)) {
      const CaseContext context =
          context_of(alone, options, {.cache_bytes = cache_bytes}, *benchmark, bytes);
      for (const std::uint64_t window : {std::uint64_t{1}, context.window})
        most = std::max(most, SlotBuffer::stride(bytes) * slots_for(context, window));
    }
  return most;
}

void for_each_case(Runner& runner, const ModeOptions& options, const RankSetup& setup,
                   const std::vector<const Benchmark*>& asked,
                   const std::function<void(const Benchmark&, const CaseContext&)>& measure) {
  for (const Benchmark* benchmark : asked) {
    bool first = !runner.contest();
    for (const std::size_t bytes : options.sizes_of(benchmark->info)) {
      const auto context = context_of(runner.group(), options, setup, *benchmark, bytes);
      if (std::exchange(first, false)) runner.heading(title({benchmark, context.axes, {}}));
      measure(*benchmark, context);
    }
  }
}

}  // namespace nearpeak
