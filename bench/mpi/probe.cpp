// SPDX-License-Identifier: Apache-2.0
#include "mpi/probe.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "benchmark/runner.hpp"
#include "mpi/measure.hpp"
#include "mpi/places.hpp"
#include "mpi/staging.hpp"
#include "pt2pt/pair_case.hpp"

namespace nearpeak {
namespace {

// Libraries treat small, middling and large messages differently.
constexpr std::size_t kSizes[] = {8, std::size_t{64} << 10, std::size_t{4} << 20};

// What an operation works on: afterwards `in` has what the peer had in `out`.
struct Ends {
  MPI_Comm comm;
  int rank;
  int peer;
  char* out;
  char* in;
  int bytes;
};

// Between two fences, each rank opening `data` to the other.
template <class Access>
void in_window(const Ends& ends, char* data, Access access) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(data, ends.bytes, 1, MPI_INFO_NULL, ends.comm, &window);
  MPI_Win_fence(0, window);
  access(window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

void put(const Ends& ends) {
  in_window(ends, ends.in, [&](MPI_Win window) {
    MPI_Put(ends.out, ends.bytes, MPI_BYTE, ends.peer, 0, ends.bytes, MPI_BYTE, window);
  });
}

void get(const Ends& ends) {
  in_window(ends, ends.out, [&](MPI_Win window) {
    MPI_Get(ends.in, ends.bytes, MPI_BYTE, ends.peer, 0, ends.bytes, MPI_BYTE, window);
  });
}

struct Operation {
  ProbeOperationInfo info;
  void (*run)(const Ends&);
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{{{"put", "MPI_Put between two fences"}, put},
                                          {{"get", "MPI_Get between two fences"}, get}};
  return all;
}

// An operation as a case, so that it is verified as a benchmark is.
class OperationCase final : public Case {
 public:
  OperationCase(const CaseContext& context, const Operation& operation)
      : operation_(operation),
        context_(context),
        out_(context.memory, context.bytes, 1),
        in_(context.memory, context.bytes, 1) {
    out_.fill({payload_seed(context.group.rank(), context.bytes)});
  }

  void run(std::uint64_t) override {
    operation_.run({.comm = comm_of(context_.group),
                    .rank = context_.group.rank(),
                    .peer = peer(),
                    .out = out_.slot(0),
                    .in = in_.slot(0),
                    .bytes = static_cast<int>(context_.bytes)});
  }
  std::vector<double> values(const Times& times) const override { return {times.us}; }
  void begin_round(std::uint64_t round, Part part) override {
    out_.fill({payload_seed(context_.group.rank(), context_.bytes), round}, Part::kStamps);
    if (part == Part::kAll) in_.spoil(payload_seed(peer(), context_.bytes));
  }
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override {
    return in_.find_mismatch({payload_seed(peer(), context_.bytes), round}, part);
  }

 private:
  int peer() const { return 1 - context_.group.rank(); }

  const Operation& operation_;
  const CaseContext context_;
  SlotBuffer out_;
  SlotBuffer in_;
};

// What is tried under a name: a benchmark between two ranks in each way to call the library, one of
// more ranks in the usual way, or an operation.
struct Tried {
  Benchmark benchmark;
  std::vector<Axes> axes;
};

std::optional<Tried> find(const std::string& name) {
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.info.name != name) continue;
    Axes axes;
    std::vector<std::string> calls{""};
    for (const Axis& axis : axes_of(benchmark)) {
      axes[axis.name] = axis.values.front();
      // Of a collective operation the usual way alone: others are other algorithms, that fail
      // alone. So do persistent requests.
      if (axis.name == kCalls && benchmark.over_transport()) calls = axis.values;
    }
    std::erase(calls, kPersistent);
    Tried tried{benchmark, {}};
    for (const std::string& way : calls) {
      if (!way.empty()) axes[kCalls] = way;
      tried.axes.push_back(axes);
    }
    return tried;
  }
  for (const Operation& operation : operations())
    if (operation.info.name == name)
      return Tried{{.info = {.name = name, .summary = operation.info.summary, .metrics = {{}}},
                    .make =
                        [&operation](const CaseContext& context) {
                          return std::make_unique<OperationCase>(context, operation);
                        }},
                   {{}}};
  return std::nullopt;
}

std::vector<std::string> known_operations() {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) names.push_back(benchmark.info.name);
  for (const ProbeOperationInfo& info : probe_operations()) names.push_back(info.name);
  return names;
}

// How one operation on one kind of buffers ended.
struct Outcome {
  std::string status;
  std::string message;
};

Outcome attempt(Runner& runner, const Command& command, const Trial& trial,
                const DeviceChoice& devices, MpiGroup& group) {
  const auto tried = find(trial.operation);
  for (const Axes& axes : tried->axes)
    for (const std::size_t bytes : kSizes) {
      if (tried->benchmark.info.largest != 0 && bytes > tried->benchmark.info.largest) continue;
      try {
        const auto wrong = runner.try_out(
            tried->benchmark, context_of(command, devices, trial.kinds, group, bytes, axes),
            mpi_methods);
        if (wrong) return {"wrong data", to_text(*wrong, bytes)};
      } catch (const Unfit& error) {
        return {"not tried", error.what()};
      }
    }
  return {"ok", ""};
}

}  // namespace

std::vector<ProbeOperationInfo> probe_operations() {
  std::vector<ProbeOperationInfo> infos;
  for (const Operation& operation : operations()) {
    const bool benchmarked = std::any_of(
        benchmarks().begin(), benchmarks().end(),
        [&](const Benchmark& benchmark) { return benchmark.info.name == operation.info.name; });
    if (!benchmarked) infos.push_back(operation.info);
  }
  return infos;
}

std::vector<std::string> parse_operations(const std::string& text) {
  const auto known = known_operations();
  if (text.empty()) return known;
  const auto names = split(text);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string all;
    for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
    throw BadInput("unknown operation '" + name + "' in --operations: give some of " + all);
  }
  return names;
}

int probe(const Command& command, const DeviceChoice& devices, MpiGroup& group) {
  Runner runner(group, command.common, {.program = "nearpeak-mpi", .buffers = ""});
  runner.open(library_version(), gather_places(devices, group));
  int status = kGood;
  for (const Trial& trial : command.trials) {
    const std::string& buffers = trial.kinds.text();
    const auto tell = [&](const Outcome& outcome) {
      if (group.leads())
        runner.writer().probe(buffers, trial.operation, outcome.status, outcome.message);
    };
    tell({"begun", ""});
    group.barrier();  // nobody begins, and perhaps crashes, before that is written
    const Outcome outcome = attempt(runner, command, trial, devices, group);
    tell(outcome);
    if (group.leads())
      runner.table().line(buffers + "  " + trial.operation + "  " + outcome.status +
                          (outcome.message.empty() ? "" : ": " + outcome.message));
    if (outcome.status == "wrong data") status = kWrongData;
    if (outcome.status == "not tried" && status == kGood) status = kFailed;
  }
  return status;
}

}  // namespace nearpeak
