// SPDX-License-Identifier: Apache-2.0
// Ping-pongs of several threads at once between two ranks, each thread with one of the other rank
// and on a communicator of its own. An iteration is one round trip of each. A sample is the mean of
// the threads' own times of so many round trips that the first and the last are a small part, when
// others are not at work. Before them each thread has one to wake by, and once all of its rank are
// awake another one, which falls in step with the other rank: waking is no part of the time.
#include <numeric>

#include "benchmark/check_memory.hpp"
#include "mpi/mpi_group.hpp"
#include "mpi/pt2pt/lanes.hpp"
#include "pt2pt/crew.hpp"
#include "pt2pt/ping_pong.hpp"
#include "transport/mpi/direct.hpp"

namespace nearpeak {
namespace {

constexpr const char* kThreads = "threads";

class ThreadLane : public PingPong<DirectTransport> {
 public:
  using PingPong<DirectTransport>::PingPong;
  std::vector<double> values(const Times&) const override { return {}; }
};

// Communicators, freed at the end; collective.
class Comms {
 public:
  Comms(MPI_Comm comm, int count) : comms_(static_cast<std::size_t>(count), MPI_COMM_NULL) {
    for (MPI_Comm& copy : comms_) MPI_Comm_dup(comm, &copy);
  }
  ~Comms() {
    for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  }
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;
  MPI_Comm at(int index) const { return comms_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<MPI_Comm> comms_;
};

class ThreadsCase final : private Comms, public Lanes<ThreadLane> {
 public:
  ThreadsCase(const CaseContext& context, const Messages& messages, int threads)
      : Comms(comm_of(context.group), threads),
        Lanes(messages.slots),
        device_(on_device(context.kind) ? context.device : nullptr),
        times_ns_(static_cast<std::size_t>(threads)) {
    // Here, as communicators are freed on all ranks or on none.
    on_every_rank(context.group, [&] {
      for (int thread = 0; thread < threads; ++thread)
        add(std::make_unique<Owning<ThreadLane, DirectTransport>>(
            context, in_lane(messages, thread), [&](const Buffers& buffers) {
              return std::make_unique<DirectTransport>(at(thread), messages, buffers);
            }));
    });
    crew_ = std::make_unique<Crew>(
        threads, [this](int thread) { wake(static_cast<std::size_t>(thread)); },
        [this](int thread, std::uint64_t n) { run(static_cast<std::size_t>(thread), n); });
  }

  double least_sample_ns() const override { return kSampleNs; }

  void run(std::uint64_t n) override {
    crew_->run(n);
    only_asked_ = false;
  }
  // What is verified are single messages.
  void run_round(std::uint64_t) override {
    only_asked_ = true;
    crew_->run(1);
  }
  std::optional<double> own_ns() const override {
    return std::accumulate(times_ns_.begin(), times_ns_.end(), 0.0) /
           static_cast<double>(times_ns_.size());
  }
  std::vector<double> values(const Times& times) const override { return {times.us / 2}; }

 private:
  // Threads begin within a microsecond; a longer sample is the mean of more disturbances.
  static constexpr double kSampleNs = 1e5;

  void wake(std::size_t thread) {
    if (device_ != nullptr) device_->use_in_this_thread();
    untimed_trip(thread);
  }
  void run(std::size_t thread, std::uint64_t n) {
    untimed_trip(thread);
    const std::int64_t begin = now_ns();
    lanes()[thread]->run(n);
    times_ns_[thread] = static_cast<double>(now_ns() - begin);
  }

  void untimed_trip(std::size_t thread) {
    if (!only_asked_) lanes()[thread]->run(1);
  }

  Device* const device_;
  bool only_asked_ = true;  // no untimed trips: a first use is the first one
  std::vector<double> times_ns_;
  std::unique_ptr<Crew> crew_;
};

const char* text_of(int level) {
  if (level == MPI_THREAD_SINGLE) return "MPI_THREAD_SINGLE";
  return level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SERIALIZED";
}

// Throws Unfit on all ranks where the library does not let several threads call it.
std::unique_ptr<Case> make(const CaseContext& context) {
  const int threads = std::stoi(context.axis(kThreads));
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  const bool enough = threads == 1 || level == MPI_THREAD_MULTIPLE;
  const std::string why =
      context.group.first_reason(enough ? ""
                                        : std::string("the library grants ") + text_of(level) +
                                              ", and several threads need MPI_THREAD_MULTIPLE");
  if (!why.empty()) throw Unfit(why);
  const Messages messages = ping_pong_messages(context, 1 - context.group.rank());
  check_memory(context, {.all = static_cast<std::uint64_t>(threads) * Slots::bytes(messages)});
  return std::make_unique<ThreadsCase>(context, messages, threads);
}

const Register entry(
    {.info = {.name = "latency_mt",
              .summary = "time of one message one way while several threads of two ranks have a "
                         "ping-pong each (MPI_THREAD_MULTIPLE)",
              .metrics = {{"latency_mt", "us", "lower"}},
              .axes = {{kThreads,
                        {"1", "2", "4", "8"},
                        "of each rank, which needs as many CPUs for them"},
                       {kCalls,
                        {kBlocking, "nonblocking"},
                        "MPI_Send and MPI_Recv; MPI_Isend, MPI_Irecv and a wait"}},
              .moves = {.ways = 2},
              .threads = true},
     .make = make});

}  // namespace
}  // namespace nearpeak
