// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "accel/allocators.hpp"
#include "benchmark/describe.hpp"
#include "mpi/methods.hpp"
#include "options/omb.hpp"
#include "options/output.hpp"
#include "programs/mpi/probe.hpp"

namespace nearpeak {
namespace {

constexpr const char* kProbe = "probe";
constexpr const char* kPairs = "pairs";
constexpr std::size_t kSolved = 64;  // the size of a problem that is solved, unless one is given
constexpr const char* kUsage =
    "Measures one MPI library: one benchmark, or several one after the other. Options of a single "
    "benchmark follow its name; all others are shared. A + begins another command line, which is "
    "measured in the same launch after the one before it.";
constexpr const char* kExamples =
    "  mpirun -n 2 nearpeak-mpi latency\n"
    "  mpirun -n 2 nearpeak-mpi bw --sizes 1M:64M --reuse rotating --jsonl bw.jsonl\n"
    "  mpirun -n 2 nearpeak-mpi latency --sizes 8,1M --calls nonblocking bw bibw\n"
    "  mpirun -n 4 nearpeak-mpi allreduce --type double --sizes 8:1M\n"
    "  mpirun -n 8 nearpeak-mpi mbw_mr --buffers H,D --devices 0\n"
    "  mpirun -n 4 nearpeak-mpi jacobi2d --sizes 4096 --overlap yes\n"
    "  mpirun -n 4 nearpeak-mpi jacobi2d --sizes 64 --solve 1e-6\n"
    "  mpirun -n 2 nearpeak-mpi latency --buffers D --devices 0,1\n"
    "  mpirun -n 2 nearpeak-mpi bw --buffers H,D --devices 0 --staging pipelined\n"
    "  mpirun -n 2 nearpeak-mpi latency bw --sizes 8,1M + put_latency --touch sender --sizes 8\n"
    "  mpirun -n 2 nearpeak-mpi probe --buffers D --buffers H,D --operations latency,put\n"
    "  mpirun -n 2 nearpeak-mpi probe --buffers D --allocators async,vmm --offsets 0,1\n"
    "  mpirun -n 2 nearpeak-mpi probe --buffers H --operations latency --checks churn,leak\n"
    "  mpirun -n 4 nearpeak-mpi pairs --rounds rounds.txt --slot-ms 20 --jsonl pairs.jsonl\n"
    "  mpirun -n 4 nearpeak-mpi pairs --rounds rounds.txt --buffers D,D --devices 0,1,0,1";

// As the user gives it, before it is checked.
struct Given {
  std::map<const Benchmark*, Axes> axes;
  std::string devices;
  std::string buffers = "H";
  std::vector<std::string> probed;  // kinds of buffers
  std::string operations;
  std::string allocators = kPlain;
  std::string offsets = "0";
  std::string checks = kDataCheck;
  std::string sizes = "8,64K,4M";
  std::string cases;  // a file
  bool probe = false;
  bool pairs = false;
  std::string rounds;  // a file
  std::string small = "8";
  std::string large = "1M";
  std::string adapters;
  Solve solve{.tolerance = 0, .most = 1'000'000};
};

bool stages(const Selected& selected) {
  const auto staging = selected.axes.find(kStaging);
  return staging != selected.axes.end() && staging->second != kNoStaging;
}

// The first word that is no flag must name a benchmark, or probe; a command line of OMB, which has
// no name, is answered with ours. Throws BadInput.
void check_name(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("-")) continue;
    if (word == kProbe || word == kPairs || benchmark_named(word) != nullptr) return;
    const std::string hint = i > 1 ? omb_hint({argv + 1, argv + argc}) : "";
    if (hint.empty()) find_benchmark(word);  // throws: it says which there are
    throw BadInput("the benchmark comes first, as in nearpeak-mpi latency; " + hint +
                   "; see nearpeak-mpi --help");
  }
}

void add_devices(CLI::App& command, Given& given) {
  command.add_option(
      "--devices", given.devices,
      "device of each rank, or one for all: an index, a UUID, or - for none; opencl:0 names a "
      "backend; 0*16 gives a device to 16 ranks in a row. Default, for ranks whose buffers need a "
      "device: among the devices that a rank sees, the one with the rank's number on its host");
}

// For CLI11 nan and inf are positive numbers.
std::string is_tolerance(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) && value > 0 ? "" : text + " is no finite number above 0";
}

std::string is_count(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.find_first_not_of('0') != std::string::npos
             ? ""
             : text + " is no whole number from 1";
}

void add_solve(CLI::App& command, Given& given) {
  CLI::Option* const tolerance =
      command
          .add_option("--solve", given.solve.tolerance,
                      "solve instead of measuring: iterate until the distance from the solution is "
                      "at most this (root of the mean square, as bounded by the residue), and "
                      "print the progress; takes one size of --sizes [" +
                          std::to_string(kSolved) + "]")
          ->check(is_tolerance);
  command.add_option("--most", given.solve.most, "iterations at most, with --solve")
      ->check(is_count)
      ->capture_default_str()
      ->needs(tolerance);
  command
      .add_option("--solution", given.solve.solution,
                  "write the solution to this file, as JSON, with --solve")
      ->needs(tolerance);
}

// Says why, which "not expected" would not.
void refuse_to_solve(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--solve",
          [name = command.get_name()](const std::string&) {
            std::vector<std::string> those;
            for (const Benchmark& benchmark : benchmarks())
              if (benchmark.solve) those.push_back(benchmark.info.name);
            throw BadInput(name + " has nothing to solve: " + comma_list(those) + " has");
          })
      ->group("");  // not in --help
}

void add_benchmark(CLI::App& app, const Benchmark& benchmark, Command& command, Given& given) {
  CLI::App* sub = app.add_subcommand(benchmark.info.name, benchmark.info.summary);
  command.common.add_to(*sub);
  if (!benchmark.info.over_bytes())  // not in --help: check_state()
    for (const char* name : {kReuse, kTouch}) sub->get_option(std::string("--") + name)->group("");
  add_axes(*sub, axes_of(benchmark), given.axes[&benchmark]);
  sub->add_option("--buffers", given.buffers,
                  "memory of the ranks' buffers: H host, P pinned host, D device, M managed; one "
                  "letter for all ranks, or one for each half of the ranks, like H,D, or one for "
                  "each rank")
      ->capture_default_str();
  add_devices(*sub, given);
  sub->add_flag("--reversed", command.reversed,
                "number the ranks from the last to the first: --buffers D,H sends from the last");
  sub->add_option("--offset", command.offset,
                  "bytes from a page boundary to the first buffer; large blocks of malloc have 16")
      ->check(CLI::Range(0, 4095))
      ->capture_default_str();
  if (benchmark.solve)
    add_solve(*sub, given);
  else
    refuse_to_solve(*sub);
  sub->callback([&] { command.selected.push_back({&benchmark, {}, {}}); });
}

void add_probe(CLI::App& app, Command& command, Given& given) {
  CLI::App* sub = app.add_subcommand(
      kProbe,
      "tries which operations the library can do on which buffers, one by one, and verifies the "
      "data; it measures nothing");
  sub->add_option("--buffers", given.probed,
                  "memory of the ranks' buffers (H, P, D, M), like D; may be given several times");
  sub->add_option(
      "--operations", given.operations,
      "only these, like latency,put: benchmarks, and operations of --describe; default: "
      "all");
  sub->add_option("--allocators", given.allocators,
                  "allocators of the buffers, one after the other: plain (the usual one of every "
                  "kind), and those of --describe that give such buffers")
      ->capture_default_str();
  sub->add_option("--offsets", given.offsets,
                  "bytes from the start of an allocation to the first buffer, one after the other")
      ->capture_default_str();
  sub->add_option("--sizes", given.sizes, "bytes of a message")->capture_default_str();
  sub->add_option("--checks", given.checks, probe_checks_text())->capture_default_str();
  sub->add_option(
      "--cases", given.cases,
      "a file that replaces these options, with a line for each case: BUFFERS ALLOCATOR OPERATION "
      "OFFSET CHECK SIZES, like D,D async put 0 data 8,64K");
  add_devices(*sub, given);
  sub->add_option(
      "--jsonl", command.common.jsonl,
      "append records to this file (docs/reference/reading-records.md), one before each operation");
  sub->callback([&given] { given.probe = true; });
}

void add_pairs(CLI::App& app, Command& command, Given& given) {
  CLI::App* sub = app.add_subcommand(
      kPairs,
      "measures pairs of ranks in rounds, the pairs of a round at the same time: latency of small "
      "messages, then bandwidth both ways of large ones, each for --slot-ms");
  command.common.add_to(*sub);
  sub->remove_option(sub->get_option("--sizes"));
  sub->add_option("--rounds", given.rounds, "a file with a line for each round, like 0-3 1-2")
      ->required();
  sub->add_option("--small", given.small, "bytes of a message of latency")->capture_default_str();
  sub->add_option("--large", given.large, "bytes of a message of bandwidth")->capture_default_str();
  sub->add_option("--buffers", given.buffers,
                  "memory of the lower rank of a pair and of the other one (H, P, D, M), like D or "
                  "H,D; joined by a + they are measured one after the other, and the value is that "
                  "of all messages; a line of --rounds may begin with buffers of its own")
      ->capture_default_str();
  add_devices(*sub, given);
  sub->add_option("--adapters", given.adapters,
                  "network adapter of each rank, in turn, like mlx5_0:1,mlx5_1:1: its "
                  "UCX_NET_DEVICES; - for the library's choice");
  sub->callback([&given] { given.pairs = true; });
}

// Throws BadInput for the reuse or the touch that the benchmark has not: all that are named share
// these options.
void check_state(const std::string& name, const std::vector<Axis>& axes, const Axes& values) {
  for (const Axis& axis : axes) {
    const std::string& value = values.at(axis.name);
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end())
      throw BadInput("--" + axis.name + " " + value + " is of messages, and " + name +
                     " is an application with buffers of its own: leave it out for " + name);
  }
}

// Throws BadInput.
void check(Selected& selected, const Command& command, const Given& given) {
  const BenchmarkInfo& info = selected.benchmark->info;
  const auto axes = axes_of(*selected.benchmark);
  selected.axes = values_of(axes, given.axes.at(selected.benchmark),
                            !need_device(command.kinds.front()), command.common);
  check_state(info.name, axes, selected.axes);
  const auto& letters = command.kinds.front().letters();
  const bool devices = std::any_of(letters.begin(), letters.end(), on_device);
  if (stages(selected) && !devices)
    throw BadInput("--staging " + selected.axes.at(kStaging) +
                   " copies to and from devices, and --buffers " + given.buffers +
                   " has none: give D or M to a rank, like --buffers D");
  if (devices && command.common.touch != touch_values().front())
    throw BadInput("--touch " + command.common.touch +
                   " writes with the CPU: it takes buffers H and P, not " + given.buffers);
  selected.sizes = sizes_of(info, command.common);
}

// Throws BadInput where some benchmarks need several threads in MPI and others do not.
void check_threads(const Command& command) {
  if (!command.calls_from_threads()) return;
  for (const Selected& each : command.selected)
    if (!each.benchmark->info.threads)
      throw BadInput(each.benchmark->info.name +
                     " needs MPI as it is begun for one thread: give it a launch of its own");
}

// Throws BadInput.
std::size_t parse_offset(const std::string& text) {
  const std::size_t offset = parse_bytes(text);
  if (offset > 4095) throw BadInput("--offsets " + text + ": give bytes from 0 to 4095");
  return offset;
}

bool gives_some(const std::string& allocator, const Kinds& kinds) {
  return std::any_of(kinds.letters().begin(), kinds.letters().end(),
                     [&](BufferKind kind) { return gives(allocator, kind); });
}

// Throws BadInput.
std::vector<ProbeTrial> chosen_trials(const Given& given) {
  if (given.probed.empty()) throw BadInput("probe needs --buffers, like --buffers D, or --cases");
  std::vector<Kinds> kinds;
  for (const std::string& buffers : given.probed) kinds.emplace_back(buffers);
  const std::vector<std::string> allocators = split(given.allocators);
  for (const std::string& allocator : allocators)
    if (std::none_of(kinds.begin(), kinds.end(),
                     [&](const Kinds& each) { return gives_some(allocator, each); }))
      throw BadInput("the allocator '" + allocator + "' of --allocators has no such buffers: " +
                     "nearpeak-mpi --describe lists the allocators");
  const auto operations = parse_operations(given.operations);
  const auto checks = parse_checks(given.checks);
  const auto sizes = parse_sizes(given.sizes);
  std::vector<ProbeTrial> trials;
  for (const Kinds& each : kinds)
    for (const std::string& allocator : allocators)
      for (const std::string& operation : operations)
        for (const std::string& offset : split(given.offsets))
          for (const std::string& check : checks)
            if (gives_some(allocator, each))
              trials.push_back({each, operation, allocator, parse_offset(offset), check, sizes});
  return trials;
}

// Throws BadInput.
std::vector<ProbeTrial> read_trials(const std::string& name) {
  std::ifstream file(name);
  if (!file) throw BadInput("--cases " + name + " cannot be read: give a file");
  std::vector<ProbeTrial> trials;
  for (std::string line; std::getline(file, line);) {
    std::string buffers, allocator, operation, offset, check, sizes;
    std::istringstream words(line);
    words >> buffers >> allocator >> operation >> offset >> check >> sizes;
    if (!words) throw BadInput("--cases " + name + " has the line '" + line + "': see --help");
    const Kinds kinds(buffers);
    if (!gives_some(allocator, kinds))
      throw BadInput("--cases " + name + ": buffers " + buffers + " are not of the allocator '" +
                     allocator + "'");
    parse_operations(operation);
    trials.push_back({kinds, operation, allocator, parse_offset(offset),
                      parse_checks(check).front(), parse_sizes(sizes)});
  }
  if (trials.empty()) throw BadInput("--cases " + name + " is empty: give it a line for each case");
  return trials;
}

// Throws BadInput.
void check_solve(Command& command, const Given& given) {
  if (command.selected.size() > 1) throw BadInput("--solve solves one problem: give one");
  Selected& selected = command.selected.front();
  if (command.common.sizes == CommonOptions{}.sizes) selected.sizes = {kSolved};
  if (selected.sizes.size() > 1)
    throw BadInput("one problem is solved: give one size, like --sizes " + std::to_string(kSolved));
  const auto norm = selected.axes.find("norm");
  if (norm != selected.axes.end() && norm->second == "never")
    throw BadInput(
        "solving needs the residue, which --norm never leaves out: give --norm 1 or "
        "--norm 100");
  if (!command.common.jsonl.empty())
    throw BadInput(
        "--jsonl would stay empty, as solving measures nothing: leave it out; "
        "--solution FILE writes the solution");
  command.solve = given.solve;
}

// An axis behind the last benchmark looks as if it were for all, and is for that one alone.
std::vector<std::string> notes_on(const std::vector<Selected>& selected, const Given& given) {
  std::vector<std::string> notes;
  const Selected& last = selected.back();
  for (const auto& [name, value] : given.axes.at(last.benchmark)) {
    if (value.empty()) continue;
    std::vector<std::string> others, lacking;
    for (const Selected& each : selected) {
      if (each.benchmark == last.benchmark) continue;
      const std::string& who = each.benchmark->info.name;
      const Axes& own = given.axes.at(each.benchmark);
      const auto theirs = own.find(name);
      if (theirs == own.end())
        lacking.push_back(who);
      else if (theirs->second.empty() && each.axes.at(name) != value)
        others.push_back(who + " takes " + each.axes.at(name));
    }
    if (!lacking.empty()) others.push_back(comma_list(lacking) + " has no such axis");
    if (!others.empty())
      notes.push_back("--" + name + " " + value + " is for " + last.benchmark->info.name +
                      ", behind which it stands: " + comma_list(others));
  }
  return notes;
}

// Throws BadInput.
Pairs chosen_pairs(const Given& given) {
  Pairs pairs{.rounds = given.rounds,
              .small = parse_size(given.small),
              .large = parse_size(given.large),
              .kinds = parse_pair_kinds(given.buffers),
              .adapters = {}};
  if (!given.adapters.empty()) pairs.adapters = split(given.adapters);
  if (pairs.large == 0) throw BadInput("--large 0 has no bandwidth: give a size from 1 byte");
  return pairs;
}

// Throws BadInput.
void check(Command& command, const Given& given) {
  if (given.pairs) {
    if (given.probe || !command.selected.empty())
      throw BadInput("pairs are measured in a launch of their own: leave benchmarks out");
    command.pairs = chosen_pairs(given);
    for (const Kinds& each : command.pairs->kinds)  // any rank may have any of them
      for (const std::string& letter : split(each.text())) command.kinds.emplace_back(letter);
    command.common.with_device =
        std::any_of(command.kinds.begin(), command.kinds.end(), need_device);
  } else if (given.probe) {
    if (!command.selected.empty())
      throw BadInput("probe measures nothing: give it a launch of its own");
    command.trials = given.cases.empty() ? chosen_trials(given) : read_trials(given.cases);
    for (const ProbeTrial& trial : command.trials)
      if (command.kinds.empty() || command.kinds.back().text() != trial.kinds.text())
        command.kinds.push_back(trial.kinds);
  } else {
    command.kinds.emplace_back(given.buffers);
    command.common.with_device = need_device(command.kinds.front());
    for (Selected& selected : command.selected) check(selected, command, given);
    command.notes = notes_on(command.selected, given);
    if (given.solve.tolerance > 0) check_solve(command, given);
    check_threads(command);
    command.common.window_at(1);
  }
  command.devices = parse_devices(given.devices);
}

}  // namespace

std::vector<Kinds> parse_pair_kinds(const std::string& text) {
  std::vector<Kinds> kinds;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '+');) {
    kinds.emplace_back(part);
    kinds.back().check(2);
  }
  if (kinds.empty()) throw BadInput("--buffers is empty: give H, D or H,D");
  return kinds;
}

std::vector<Kinds> Command::launched_kinds() const {
  std::vector<Kinds> out;
  for (const Kinds& each : kinds) out.push_back(reversed ? each.reversed() : each);
  return out;
}

std::vector<Axis> axes_of(const Benchmark& benchmark) {
  std::vector<Axis> axes = benchmark.info.axes;
  CommonOptions options;
  if (!benchmark.info.over_bytes()) {  // it knows only one way, the default
    options.reuses.resize(1);
    options.touches.resize(1);
  }
  for (Axis& axis : common_axes(options)) axes.push_back(std::move(axis));
  if (benchmark.over_transport() || benchmark.info.staged) axes.push_back(staging_axis());
  return axes;
}

void Command::check_ranks(int ranks) const {
  const auto wrong = [ranks](const std::string& name, const RankRule& rule) {
    return BadInput(name + " runs on " + rule.text() + ", not on " + std::to_string(ranks) +
                    ": start it with mpirun -n " + std::to_string(rule.count));
  };
  for (const Selected& each : selected) {
    const BenchmarkInfo& info = each.benchmark->info;
    if (!info.ranks.fits(ranks)) throw wrong(info.name, info.ranks);
  }
  const RankRule several{.kind = RankRule::Kind::kAtLeast, .count = 2};
  if (!trials.empty() && !several.fits(ranks)) throw wrong(kProbe, several);
  if (pairs && !several.fits(ranks)) throw wrong(kPairs, several);
  for (const Kinds& each : kinds) each.check(ranks);
  if (devices.size() > 1 && static_cast<int>(devices.size()) != ranks)
    throw BadInput("--devices names " + std::to_string(devices.size()) + " devices for " +
                   std::to_string(ranks) + " ranks: give one for each, or one for all");
}

bool Command::calls_from_threads() const {
  const bool all_tried =
      !trials.empty() && std::all_of(trials.begin(), trials.end(), [](const ProbeTrial& each) {
        const Benchmark* const benchmark = benchmark_named(each.operation);
        return benchmark != nullptr && benchmark->info.threads;
      });
  return all_tried || std::any_of(selected.begin(), selected.end(), [](const Selected& each) {
           return each.benchmark->info.threads;
         });
}

bool Command::sends_from_device(int rank, int ranks) const {
  const auto launched = launched_kinds();
  const bool has = std::any_of(launched.begin(), launched.end(), [&](const Kinds& each) {
    return each.of(rank, ranks) == BufferKind::kDevice;
  });
  return has &&
         (!trials.empty() || pairs || !std::all_of(selected.begin(), selected.end(), stages));
}

namespace {

Command parse_part(int argc, char** argv) {
  check_name(argc, argv);
  CLI::App app(kUsage, "nearpeak-mpi");
  app.add_flag_callback(
      "--describe",
      [] {
        std::cout << describe() << "\n";
        finish_output();
        std::exit(kGood);
      },
      "print the benchmarks, their axes, metrics and units, and what probe tries, as JSON");
  app.add_flag("--check", "check the command line, and measure nothing");
  Command command;
  Given given;
  for (const Benchmark& benchmark : benchmarks()) add_benchmark(app, benchmark, command, given);
  add_probe(app, command, given);
  add_pairs(app, command, given);
  add_examples(app, kExamples);
  parse_line(app, argc, argv);
  if (app.get_subcommands().empty()) {
    std::string names;
    for (const Benchmark& benchmark : benchmarks()) names += benchmark.info.name + ", ";
    throw BadInput("name a benchmark, one of " + names + "probe or pairs; see nearpeak-mpi --help");
  }
  check(command, given);
  return command;
}

// Throws BadInput.
void check_together(const std::vector<Command>& parts) {
  const Command& first = parts.front();
  for (const Command& each : parts) {
    if (parts.size() > 1 && (!each.trials.empty() || each.solve || each.pairs))
      throw BadInput("probe, pairs and --solve do not go with a +: give each a launch of its own");
    if (each.devices != first.devices || each.common.jsonl != first.common.jsonl)
      throw BadInput(
          "--devices and --jsonl are for the whole launch: give the same ones before and "
          "after a +");
    if (each.calls_from_threads() != first.calls_from_threads())
      throw BadInput(
          "benchmarks with several threads need launches of their own, as MPI is begun "
          "differently for them");
  }
}

}  // namespace

std::vector<Command> parse(int argc, char** argv) {
  std::vector<Command> parts;
  for (auto& words : parts_of(argc, argv))
    parts.push_back(parse_part(static_cast<int>(words.size()), words.data()));
  check_together(parts);
  return parts;
}

}  // namespace nearpeak
