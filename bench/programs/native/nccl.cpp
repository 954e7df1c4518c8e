// SPDX-License-Identifier: Apache-2.0
// The mode `nccl`: NCCL, or RCCL, in the place of an MPI library.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>

#include "accel/kinds.hpp"
#include "benchmark/selected.hpp"
#include "group/failure.hpp"
#include "group/socket.hpp"
#include "nccl/collective.hpp"
#include "options/launched.hpp"
#include "programs/native/mode.hpp"
#include "programs/native/process.hpp"
#include "transport/nccl/transport.hpp"

namespace nearpeak::nccl {
namespace {

constexpr const char* kProgram = "nearpeak-native";

struct NcclCommand {
  CommonOptions common;
  // All ranks forked here, one on each CPU,
  std::vector<int> cpus;
  // or this process is one of several that a launcher has started:
  std::string peer;                  // the host of rank 0
  int port = 0;                      // where it listens
  std::vector<std::string> devices;  // one for each rank
  std::string buffers = "D,D";
  std::string library;  // empty: what the loader finds
  std::vector<Selected> selected;
};

// Messages of MPI have more ways to be sent.
Axis calls_of_messages(const Axis& axis) {
  Axis calls{axis.name, axis.values,
             "blocking: each ncclSend and ncclRecv is waited for; nonblocking: all that are open "
             "together are one group"};
  std::erase(calls.values, "persistent");
  return calls;
}

std::vector<Axis> axes_of(const Benchmark& benchmark, const CommonOptions& common) {
  std::vector<Axis> axes;
  for (const Axis& axis : benchmark.info.axes)
    axes.push_back(benchmark.over_transport() && axis.name == "calls" ? calls_of_messages(axis)
                                                                      : axis);
  if (benchmark.over_transport()) axes.push_back(register_axis(Symmetric::kNo));
  for (Axis& axis : common_axes(common)) axes.push_back(std::move(axis));
  return axes;
}

std::string describe(const CommonOptions& common) {
  Description out{.program = kProgram};
  for (const Benchmark& benchmark : benchmarks())
    out.benchmarks.push_back({benchmark, axes_of(benchmark, common)});
  return to_json(out);
}

// Throws BadInput for what can be seen before anything is done.
void check(const NcclCommand& command, int ranks) {
  const Kinds kinds(command.buffers);
  if (!std::all_of(kinds.letters().begin(), kinds.letters().end(),
                   [](BufferKind kind) { return kind == BufferKind::kDevice; }))
    throw BadInput("nccl measures only device memory: give --buffers D, not " + command.buffers);
  kinds.check(ranks);
  if (static_cast<int>(command.devices.size()) != ranks)
    throw BadInput("--devices of nccl needs a device for each of the " + std::to_string(ranks) +
                   " processes: --devices 0,1");
  if (command.selected.empty())
    throw BadInput("name a benchmark behind the options of nccl, like allreduce");
  for (const Selected& each : command.selected) {
    const BenchmarkInfo& info = each.benchmark->info;
    if (!info.ranks.fits(ranks))
      throw BadInput(info.name + " runs on " + info.ranks.text() + ", not on " +
                     std::to_string(ranks) + ": start others");
  }
  ModeOptions options;
  options.common = command.common;
  options.check();
}

// One of the ranks, from its birth.
class Rank {
 public:
  Rank(const NcclCommand& command, Group& group) : command_(command), group_(group) {}

  int run() {
    if (const int status = open(); status != kGood) return status;
    NcclGroup group(group_, api_, *device_, wait_s(), !command_.peer.empty());
    Memory& plain = device_->memory(BufferKind::kDevice);
    local_.emplace(group.communicator(), plain);
    symmetric_.emplace(group, group.communicator(), plain);
    Runner runner(group, command_.common, {.program = kProgram, .buffers = command_.buffers});
    RankPlace place = this_place(group.rank());
    place.device = rank_device(device_->info());
    runner.count(place.device);
    runner.open(api_.text(), group.gather(to_json(place)));
    if (group.leads()) runner.table().heading(api_.text());
    for (const Selected& each : command_.selected) measure(runner, group, each);
    group.barrier();
    return runner.status();
  }

 private:
  void measure(Runner& runner, NcclGroup& group, const Selected& selected) {
    runner.heading(title(selected));
    for (const std::size_t bytes : selected.sizes)
      runner.run(*selected.benchmark, {.group = group,
                                       .kind = BufferKind::kDevice,
                                       .memory = memory_for(selected.axes),
                                       .device = device_,
                                       .bytes = bytes,
                                       .window = command_.common.window_at(bytes),
                                       .offset = 0,
                                       .cache_bytes = cache_bytes_,
                                       .most_bytes = command_.common.memory_limit,
                                       .axes = selected.axes,
                                       .methods = methods});
  }

  // An application has no such axis.
  Memory& memory_for(const Axes& axes) {
    const auto asked = axes.find(kRegister);
    if (asked == axes.end() || asked->second == kNone) return device_->memory(BufferKind::kDevice);
    if (asked->second == kLocal) return *local_;
    return *symmetric_;
  }

  static std::vector<Method> methods(const CaseContext& context, const Messages& messages,
                                     const Buffers& buffers) {
    const Communicator& comm = communicator_of(context.group);
    const char* const why_not = messages.bytes == 0 ? "NCCL has no messages without data" : "";
    return {{.name = "nccl", .buffers = buffers, .unavailable = why_not, .make = [=, &comm] {
               return std::make_unique<NcclTransport>(comm, messages, buffers);
             }}};
  }

  // Takes the device and loads the library. What stops a rank is said once.
  int open() {
    const Failure failure = failure_in([&] {
      taken_ = take_device(command_.devices[static_cast<std::size_t>(group_.rank())]);
      device_ = taken_.device;
      why_no_kernels(*device_);  // compiled now, and not in the first case
      api_ = load(command_.library);
    });
    int status = settle(kProgram, failure, group_);
    if (status == kGood) {
      const auto uuids = group_.gather(device_->info().uuid);
      status = settle(kProgram, failure_in([&] { check_apart(uuids); }), group_);
    }
    if (status != kGood) {
      group_.barrier();  // who ends first has the others ended
      return status;
    }
    cache_bytes_ = group_.largest(command_.common.cache_bytes(device_->info().l2_bytes));
    return kGood;
  }

  // NCCL takes each GPU for one rank alone. Throws BadInput.
  static void check_apart(const std::vector<std::string>& uuids) {
    for (std::size_t rank = 1; rank < uuids.size(); ++rank)
      for (std::size_t before = 0; before < rank; ++before)
        if (uuids[before] == uuids[rank])
          throw BadInput("ranks " + std::to_string(before) + " and " + std::to_string(rank) +
                         " are on one GPU, which NCCL refuses: give each one of its own in "
                         "--devices");
  }

  // For what is not measured too, like NCCL's first connections: less than until all are ended.
  double wait_s() const { return 5 + 2 * command_.common.limit_s; }

  const NcclCommand& command_;
  Group& group_;
  TakenDevice taken_;
  Device* device_ = nullptr;
  Api api_;
  std::optional<LocalMemory> local_;
  std::optional<SymmetricMemory> symmetric_;
  std::uint64_t cache_bytes_ = 0;
};

class NcclMode final : public Mode {
 public:
  NcclMode()
      : Mode("nccl",
             "NCCL or RCCL in the place of an MPI library: benchmarks of messages and of "
             "collective operations between GPUs of this host, with options behind each name") {
    command_.common.touches = {"none"};  // the CPU does not write to a GPU's memory
    command_.common.with_device = true;
  }

  std::vector<Metric> metrics() const override { return {}; }  // its own --describe has them

  void add_options(CLI::App& app) override {
    app.add_flag_callback(
        "--describe",
        [this] {
          std::cout << describe(command_.common) << std::endl;
          std::exit(kGood);
        },
        "print its benchmarks, their axes, metrics and units as JSON");
    app.add_option_function<std::string>(
        "--cpus", [this](const std::string& text) { command_.cpus = parse_cpus(text); },
        "the CPUs, one for each process: 0,1");
    app.add_option("--peer", command_.peer,
                   "a launcher has started this process: the host of rank 0");
    app.add_option("--port", command_.port, "where rank 0 listens, with --peer")
        ->check(CLI::Range(1, 65535));
    app.add_option_function<std::string>(
        "--devices", [this](const std::string& text) { command_.devices = split(text); },
        "the GPU of each process, by index or UUID: 0,1");
    app.add_option("--buffers", command_.buffers, "kind of the buffers: D device")
        ->capture_default_str();
    app.add_option("--library", command_.library,
                   "the shared library; default: the libnccl.so.2 or librccl.so.1 that is found");
    app.require_subcommand(0, 0);  // any number of them
    for (const Benchmark& benchmark : benchmarks()) {
      CLI::App* sub = app.add_subcommand(benchmark.info.name, benchmark.info.summary);
      command_.common.add_to(*sub);
      add_axes(*sub, axes_of(benchmark, command_.common), given_[&benchmark]);
      sub->callback([this, &benchmark] { command_.selected.push_back({&benchmark, {}, {}}); });
    }
  }

  int run() override {
    for (Selected& each : command_.selected) {
      each.axes = values_of(axes_of(*each.benchmark, command_.common), given_[each.benchmark],
                            false, command_.common);
      each.sizes = sizes_of(each.benchmark->info, command_.common);
    }
    if (command_.cpus.empty() == command_.peer.empty())
      throw BadInput(
          "nccl needs --cpus A,B to start all processes here, or --peer HOST --port N under a "
          "launcher");
    ModeOptions options;
    options.common = command_.common;
    const double patience_s = options.stall_s(1);
    if (!command_.peer.empty()) return run_launched(patience_s);
    check(command_, static_cast<int>(command_.cpus.size()));
    check_cpus(command_.cpus);
    return run_group(command_.cpus, patience_s,
                     [this](SharedGroup& group) { return Rank(command_, group).run(); });
  }

 private:
  int run_launched(double patience_s) const {
    const std::optional<int> rank = launched_rank();
    const std::optional<int> ranks = launched_ranks();
    if (!rank || !ranks)
      throw BadInput("nccl --peer finds no rank in " + rank_variables() +
                     ": start it with a launcher, like mpirun -n 2");
    if (command_.port == 0) throw BadInput("nccl --peer needs --port N, the same on all ranks");
    check(command_, *ranks);
    const int status = run_rank(*rank, [&] {
      if (*rank != kLeaderRank) {
        SocketGroup group(command_.peer, command_.port, *rank, *ranks, patience_s);
        return Rank(command_, group).run();
      }
      const Socket listener = listen_as(command_.peer, command_.port);
      SocketGroup group(listener, *ranks, patience_s);
      return Rank(command_, group).run();
    });
    if (status != kFailed) return status;
    std::fflush(nullptr);
    _exit(status);  // a thread of NCCL may still wait for other ranks
  }

  NcclCommand command_;
  std::map<const Benchmark*, Axes> given_;
};

const RegisterMode<NcclMode> nccl_mode;

}  // namespace
}  // namespace nearpeak::nccl
