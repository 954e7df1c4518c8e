// SPDX-License-Identifier: Apache-2.0
#include <climits>
#include <new>

#include "mpi/benchmark.hpp"

namespace nearpeak {
namespace {

constexpr int kLeader = 0;

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

// Every rank's text, on every rank, in the order of the ranks.
std::vector<std::string> gather(const std::string& text, MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  int length = static_cast<int>(text.size());
  int longest = 0;
  MPI_Allreduce(&length, &longest, 1, MPI_INT, MPI_MAX, comm);
  std::string mine = text;
  mine.resize(longest + 1, '\0');
  std::string all(mine.size() * ranks, '\0');
  MPI_Allgather(mine.data(), longest + 1, MPI_CHAR, all.data(), longest + 1, MPI_CHAR, comm);
  std::vector<std::string> out;
  for (int i = 0; i < ranks; ++i) out.emplace_back(all.c_str() + i * mine.size());
  return out;
}

// The first rank's mismatch, known to every rank.
std::optional<WrongData> first_wrong(const std::optional<Mismatch>& mine, MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const long long local[4] = {mine ? 1 : 0, mine ? static_cast<long long>(mine->byte) : 0,
                              mine ? mine->expected : 0, mine ? mine->got : 0};
  std::vector<long long> all(4 * ranks);
  MPI_Allgather(local, 4, MPI_LONG_LONG, all.data(), 4, MPI_LONG_LONG, comm);
  for (int i = 0; i < ranks; ++i)
    if (all[4 * i] != 0)
      return WrongData{i, Mismatch{static_cast<std::size_t>(all[4 * i + 1]),
                                   static_cast<unsigned>(all[4 * i + 2]),
                                   static_cast<unsigned>(all[4 * i + 3])}};
  return std::nullopt;
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

std::string title(const Request& request) {
  std::string text = std::string("nearpeak-mpi ") + kVersion + " " + request.benchmark->info.name +
                     ": " + request.benchmark->info.summary + "; buffers H,H";
  for (const auto& [name, value] : request.axes) text += "; " + name + " " + value;
  return text;
}

// Returns nothing where some rank has no memory for it.
std::unique_ptr<Case> make_case(const Request& request, const CaseContext& context) {
  std::unique_ptr<Case> made;
  try {
    made = request.benchmark->make(context);
  } catch (const std::bad_alloc&) {
  }
  int mine = made ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, context.comm);
  if (all == 0) made.reset();
  return made;
}

// The state of one run: where results go, and how they are taken.
class Runner {
 public:
  Runner(const Request& request, MPI_Comm comm)
      : request_(request),
        comm_(comm),
        rank_(rank_in(comm)),
        clock_(measure_clock()),
        coordinator_(comm, rank_),
        sampler_(coordinator_, clock_),
        writer_(open_writer()) {}

  int run() {
    const auto places = gather(to_json(this_place(rank_)), comm_);
    const BenchmarkInfo& info = request_.benchmark->info;
    if (leads()) {
      writer_->environment("nearpeak-mpi", library_version(), places, clock_);
      table_.heading(title(request_));
      table_.columns(info.metric, info.unit);
    }
    int status = kGood;
    for (const std::size_t size : request_.sizes)
      if (!run_size(size)) status = kWrongData;
    return status;
  }

 private:
  static int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  bool leads() const { return rank_ == kLeader; }

  // The leader's writes records. A file that it cannot open is every rank's bad input.
  std::unique_ptr<RecordWriter> open_writer() {
    auto writer = std::make_unique<RecordWriter>();
    std::string error;
    try {
      if (leads() && !request_.common.jsonl.empty())
        writer = std::make_unique<RecordWriter>(request_.common.jsonl);
    } catch (const std::runtime_error& failure) {
      error = failure.what();
    }
    error = gather(error, comm_)[kLeader];
    if (!error.empty()) throw BadInput(error);
    return writer;
  }

  // False when wrong data arrived.
  bool run_size(std::size_t size) {
    const BenchmarkInfo& info = request_.benchmark->info;
    const CaseContext context{comm_,           rank_,        size, request_.common.window_at(size),
                              request_.offset, request_.axes};
    CaseResult result;
    result.name = {info.name, info.metric, size, "H,H", request_.axes, std::nullopt};
    const auto made = make_case(request_, context);
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
  MPI_Comm comm_;
  int rank_;
  ClockQuality clock_;
  MpiCoordinator coordinator_;
  Sampler sampler_;
  std::unique_ptr<RecordWriter> writer_;
  Table table_;
};

}  // namespace

int run(const Request& request) {
  const BenchmarkInfo& info = request.benchmark->info;
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != info.ranks)
    throw BadInput(info.name + " runs on " + std::to_string(info.ranks) + " ranks, not on " +
                   std::to_string(ranks) + ": start it with mpirun -n " +
                   std::to_string(info.ranks));
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int status = Runner(request, comm).run();
  MPI_Comm_free(&comm);
  return status;
}

}  // namespace nearpeak
