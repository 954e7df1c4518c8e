// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>

#include "mpi/agreement.hpp"
#include "mpi/benchmark.hpp"

namespace nearpeak {
namespace {

class MpiCoordinator final : public Coordinator {
 public:
  MpiCoordinator(MPI_Comm comm, int rank) : comm_(comm), rank_(rank) {}
  bool leads() const override { return rank_ == kLeader; }
  std::uint64_t agree(std::uint64_t value) override {
    MPI_Bcast(&value, 1, MPI_UINT64_T, kLeader, comm_);
    return value;
  }

 private:
  MPI_Comm comm_;
  int rank_;
};

std::string title(const Request& request, const Selected& selected) {
  const BenchmarkInfo& info = selected.benchmark->info;
  std::string text = std::string("nearpeak-mpi ") + kVersion + " " + info.name + ": " +
                     info.summary + "; buffers " + request.buffers;
  for (const auto& [name, value] : selected.axes) text += "; " + name + " " + value;
  return text;
}

// Returns nothing where some rank has no memory for it.
std::unique_ptr<Case> make_case(const Benchmark& benchmark, const CaseContext& context) {
  std::unique_ptr<Case> made;
  try {
    made = benchmark.make(context);
  } catch (const std::bad_alloc&) {
  }
  if (!everywhere(made != nullptr, context.comm)) made.reset();
  return made;
}

// Bytes of the largest cache between any rank's buffers and whoever moves them.
std::uint64_t largest_cache_of(const DeviceChoice& devices, BufferKind kind, MPI_Comm comm) {
  std::uint64_t mine = largest_cache();
  if (on_device(kind)) mine = std::max(mine, devices.device()->info().l2_bytes);
  std::uint64_t largest = 0;
  MPI_Allreduce(&mine, &largest, 1, MPI_UINT64_T, MPI_MAX, comm);
  return largest;
}

// The state of one run: where results go, and how they are taken.
class Runner {
 public:
  Runner(const Request& request, const DeviceChoice& devices, MPI_Comm comm)
      : request_(request),
        devices_(devices),
        comm_(comm),
        rank_(rank_in(comm)),
        kind_(request.kinds[rank_]),
        cache_bytes_(largest_cache_of(devices, kind_, comm)),
        clock_(measure_clock()),
        coordinator_(comm, rank_),
        sampler_(coordinator_, clock_),
        writer_(open_writer(request.common.jsonl, comm)) {}

  // `places`: as from gather_places().
  int run(const std::vector<std::string>& places) {
    if (leads()) writer_->environment("nearpeak-mpi", library_version(), places, clock_);
    int status = kGood;
    for (const Selected& selected : request_.selected) {
      const BenchmarkInfo& info = selected.benchmark->info;
      if (leads()) {
        table_.heading(title(request_, selected));
        table_.columns(info.metric, info.unit);
      }
      for (const std::size_t size : selected.sizes)
        if (!run_size(selected, size)) status = kWrongData;
    }
    return status;
  }

 private:
  bool leads() const { return rank_ == kLeader; }

  // False when wrong data arrived.
  bool run_size(const Selected& selected, std::size_t size) {
    const BenchmarkInfo& info = selected.benchmark->info;
    const CaseContext context{comm_,
                              rank_,
                              kind_,
                              devices_.memory(kind_),
                              devices_.device(),
                              size,
                              request_.common.window_at(size),
                              request_.offset,
                              cache_bytes_,
                              selected.axes};
    CaseResult result;
    result.name = {info.name, info.metric, size, request_.buffers, selected.axes, std::nullopt};
    const auto made = make_case(*selected.benchmark, context);
    if (!made) {
      if (leads()) {
        writer_->skipped(result.name, "out of memory");
        table_.problem(size, "skipped: out of memory");
      }
      return true;
    }

    SamplingPolicy policy = request_.common.policy();
    policy.min_warmup = made->cycle();
    made->calibrate(sampler_, policy);
    result.measurement = sampler_.measure(policy, [&](std::uint64_t n) { made->iterate(n); });
    if (request_.common.verify) {
      if (const auto wrong = first_wrong(made->verify(), comm_)) {
        if (leads()) {
          writer_->wrong_data(result.name, *wrong);
          table_.problem(size, "WRONG DATA: rank " + std::to_string(wrong->rank) + ", byte " +
                                   std::to_string(wrong->where.byte));
        }
        return false;
      }
    }
    if (leads()) {
      result.unit = info.unit;
      result.better = info.better;
      result.window = made->window();
      result.subtracted_us = made->subtracted_us();
      for (const double us : result.measurement.samples_us)
        result.samples.push_back(made->value(us));
      writer_->samples(result);
      table_.row(result);
    }
    return true;
  }

  const Request& request_;
  const DeviceChoice& devices_;
  MPI_Comm comm_;
  int rank_;
  BufferKind kind_;
  std::uint64_t cache_bytes_;
  ClockQuality clock_;
  MpiCoordinator coordinator_;
  Sampler sampler_;
  std::unique_ptr<RecordWriter> writer_;
  Table table_;
};

}  // namespace

void check_ranks(const std::string& name, int needed) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != needed)
    throw BadInput(name + " runs on " + std::to_string(needed) + " ranks, not on " +
                   std::to_string(ranks) + ": start it with mpirun -n " + std::to_string(needed));
}

int run(const Request& request, const DeviceChoice& devices) {
  check_ranks(request.selected.front().benchmark->info.name, request.ranks());
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const auto places = gather_places(devices, comm);  // which finds what else would fail below
  const int status = Runner(request, devices, comm).run(places);
  MPI_Comm_free(&comm);
  return status;
}

}  // namespace nearpeak
