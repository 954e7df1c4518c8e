// SPDX-License-Identifier: Apache-2.0
// nearpeak-mpi: benchmarks of one MPI library, under any MPI launcher.
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "mpi/agreement.hpp"
#include "mpi/benchmark.hpp"
#include "mpi/probe.hpp"
#include "pt2pt/staging.hpp"

namespace {

using namespace nearpeak;

constexpr const char* kProbe = "probe";

void check_name(const std::string& name) {
  std::string known = kProbe;
  if (name == kProbe) return;
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.info.name == name) return;
    known += ", " + benchmark.info.name;
  }
  throw BadInput("unknown benchmark '" + name + "': give one of " + known);
}

void add_devices(CLI::App& command, std::string& devices) {
  command.add_option(
      "--devices", devices,
      "device of each rank, or of all: index, UUID, - for none, with a backend as in opencl:0; "
      "default: of all that a rank sees, the one of its number on its host, if its buffers need "
      "one");
}

// Whether a benchmark copies to and from devices itself.
bool stages(const Selected& selected) {
  const auto staging = selected.axes.find(kStaging);
  return staging != selected.axes.end() && staging->second != "none";
}

// What the command line asks for.
struct Command {
  Request request;                    // of a benchmark, or
  std::optional<ProbeRequest> probe;  // of the operations
  std::vector<DeviceSpec> devices;    // of each rank

  DeviceChoice take_device() const {
    return {probe ? probe->kinds : std::vector<Kinds>{request.kinds}, devices};
  }
  // Whether this rank would give MPI an address of device memory.
  bool sends_from_device(int rank) const {
    const auto on_device = [rank](const Kinds& kinds) {
      return kinds[static_cast<std::size_t>(rank)] == BufferKind::kDevice;
    };
    if (probe) return std::any_of(probe->kinds.begin(), probe->kinds.end(), on_device);
    return on_device(request.kinds) &&
           !std::all_of(request.selected.begin(), request.selected.end(), stages);
  }
  int run(const DeviceChoice& taken) const {
    return probe ? nearpeak::run(*probe, taken) : nearpeak::run(request, taken);
  }
};

// As the user gives it, before it is checked.
struct Given {
  std::map<const Benchmark*, Axes> axes;
  std::string devices;
  ProbeRequest probe;
  std::string operations;
};

void add_benchmark(CLI::App& app, const Benchmark& benchmark, Request& request, Given& given) {
  CLI::App* command = app.add_subcommand(benchmark.info.name, benchmark.info.summary);
  request.common.add_to(*command);
  for (const Axis& axis : benchmark.info.axes) {
    if (axis.name == kReuse) continue;  // an option that the ceilings have too
    std::string& value = given.axes[&benchmark][axis.name];
    value = axis.values.front();
    command->add_option("--" + axis.name, value, axis.summary)
        ->check(CLI::IsMember(axis.values))
        ->capture_default_str();
  }
  command
      ->add_option("--buffers", request.buffers,
                   "kind of each rank's buffer: H host, P pinned host, D device, M managed")
      ->capture_default_str();
  add_devices(*command, given.devices);
  command
      ->add_option("--offset", request.offset,
                   "bytes from a page boundary to the first buffer; malloc's large blocks: 16")
      ->check(CLI::Range(0, 4095))
      ->capture_default_str();
  command->callback([&request, &benchmark] { request.selected.push_back({&benchmark, {}, {}}); });
}

void add_probe(CLI::App& app, Given& given, std::optional<ProbeRequest>& probe) {
  CLI::App* command = app.add_subcommand(
      kProbe,
      "which operations the library can do on which buffers, tried one by one with 8, 64K and 4M "
      "bytes; it measures nothing");
  command
      ->add_option("--buffers", given.probe.buffers,
                   "kind of each rank's buffer (H, P, D, M), as D,D; give it several times to try "
                   "several")
      ->required();
  command->add_option("--operations", given.operations,
                      "only these, as send,put: see --describe; default: all");
  add_devices(*command, given.devices);
  command->add_option("--jsonl", given.probe.jsonl,
                      "append records to this file (docs/records.md), one before each operation");
  command->callback([&given, &probe] { probe = given.probe; });
}

// Throws BadInput.
void check(ProbeRequest& probe, const Given& given) {
  for (const std::string& buffers : probe.buffers)
    probe.kinds.push_back(parse_kinds(buffers, kProbeRanks));
  probe.operations = parse_operations(given.operations);
}

// Throws BadInput.
void check(Selected& selected, const Request& request, const Given& given) {
  const BenchmarkInfo& info = selected.benchmark->info;
  selected.axes = given.axes.at(selected.benchmark);
  selected.axes[kReuse] = request.common.reuse;
  if (stages(selected) && std::none_of(request.kinds.begin(), request.kinds.end(), on_device))
    throw BadInput("--staging " + selected.axes.at(kStaging) +
                   " copies to and from devices, and --buffers " + request.buffers +
                   " has none: give D or M to a rank, as --buffers D,D");
  selected.sizes = request.common.ordered_sizes();
  std::erase_if(selected.sizes, [&](std::size_t size) { return size < info.smallest; });
  if (selected.sizes.empty())
    throw BadInput(info.name + " needs sizes of at least " + std::to_string(info.smallest) +
                   " byte");
  if (info.ranks != request.ranks())
    throw BadInput(info.name + " runs on another number of ranks than the benchmark before it: " +
                   "give it a launch of its own");
}

// Throws BadInput.
void check(Request& request, const Given& given) {
  request.kinds = parse_kinds(request.buffers, request.ranks());
  for (Selected& selected : request.selected) check(selected, request, given);
  request.common.with_device = need_device(request.kinds);
  request.common.window_at(1);
}

// Returns what is to be run; exits the program for --help and --describe. Throws BadInput.
Command parse(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') check_name(argv[1]);
  CLI::App app(
      "Measures one MPI library: one benchmark, or several one after the other, with options of "
      "their own after each name and the others shared. Examples:\n"
      "  mpirun -n 2 nearpeak-mpi latency\n"
      "  mpirun -n 2 nearpeak-mpi bw --sizes 1M:64M --reuse rotating --jsonl bw.jsonl\n"
      "  mpirun -n 2 nearpeak-mpi latency --sizes 8,1M --calls nonblocking bw bibw\n"
      "  mpirun -n 2 nearpeak-mpi latency --buffers D,D --devices 0,1\n"
      "  mpirun -n 2 nearpeak-mpi bw --buffers H,D --devices 0 --staging pipelined\n"
      "  mpirun -n 2 nearpeak-mpi probe --buffers D,D --buffers H,D --operations send,allreduce",
      "nearpeak-mpi");
  app.add_flag_callback(
      "--describe",
      [] {
        std::cout << describe() << "\n";
        std::exit(kGood);
      },
      "print the benchmarks, their axes, metrics and units, and what probe tries, as JSON");
  app.require_subcommand(1, 0);
  Command command;
  Given given;
  for (const Benchmark& benchmark : benchmarks())
    add_benchmark(app, benchmark, command.request, given);
  add_probe(app, given, command.probe);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));
    throw BadInput(std::string(error.what()) + "; see nearpeak-mpi --help");
  }
  if (command.probe && !command.request.selected.empty())
    throw BadInput("probe measures nothing: give it a launch of its own");
  command.probe ? check(*command.probe, given) : check(command.request, given);
  command.devices =
      parse_devices(given.devices, command.probe ? kProbeRanks : command.request.ranks());
  return command;
}

// What stops a rank before MPI_Init is said after it: the others would wait for it there.
Failure prepare(int argc, char** argv, Command& command, DeviceChoice& taken) {
  try {
    command = parse(argc, argv);
    taken = command.take_device();
    if (Device* const device = taken.device();
        device != nullptr && !device->shares_addresses() && command.sends_from_device(taken.rank()))
      throw BadInput(device->info().name +
                     " has no addresses of device memory that MPI could be given: add --staging " +
                     "pinned, or take M in place of D in --buffers");
  } catch (const BadInput& error) {
    return {kBadInput, error.what()};
  } catch (const BackendUnavailable& error) {
    return {kBadInput, error.what()};
  } catch (const std::exception& error) {
    return {kFailed, error.what()};
  }
  return {};
}

int guarded(const Command& command, const DeviceChoice& taken, const Failure& failure) {
  const int rank = rank_in(MPI_COMM_WORLD);
  try {
    if (const int status = settle(failure, MPI_COMM_WORLD); status != 0) return status;
    return command.run(taken);
  } catch (const BadInput& error) {
    // Every rank finds the same, so every rank is here: one line is enough.
    if (rank == kLeader) std::cerr << "nearpeak-mpi: " << error.what() << std::endl;
    return kBadInput;
  } catch (const std::exception& error) {
    std::cerr << "nearpeak-mpi: rank " + std::to_string(rank) + ": " + error.what() + "\n"
              << std::flush;
    // Launchers forward what was said only while the job lives: PRRTE loses what came just before.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    MPI_Abort(MPI_COMM_WORLD, kFailed);
    return kFailed;
  }
}

// These answer without MPI, so that they work outside of any launcher.
bool only_asks(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    for (const char* option : {"--describe", "--help", "-h"})
      if (std::string(argv[i]) == option) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (only_asks(argc, argv)) {
    parse(argc, argv);
    return kGood;
  }
  Command command;
  DeviceChoice taken;  // given back after MPI_Finalize, which may still use it
  const Failure failure = prepare(argc, argv, command, taken);
  MPI_Init(&argc, &argv);
  const int status = guarded(command, taken, failure);
  MPI_Finalize();
  return status;
}
