// SPDX-License-Identifier: Apache-2.0
// What all collective operations of MPI have in common: the ways to call them, their axes. An
// operation is a class of a few lines (docs/contributing/adding-a-benchmark.md):
//   Operation(const CaseContext&)        collective; may throw Unfit, on all ranks
//   CollectiveBuffers buffers() const    what this rank's buffers are
//   std::unique_ptr<Contents> contents() const      and what they hold
//   void call(Calls& calls, void* out, void* in) const   the MPI functions and their arguments:
//     buffers are null where they have no bytes, `out` is MPI_IN_PLACE where the rank sends in
//     place
// Its communicator is that of its group, unless there is a comm_of() for it.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "benchmark/calls.hpp"
#include "collective/calls.hpp"
#include "collective/layout.hpp"
#include "mpi/mpi_group.hpp"
#include "overlap/overlap.hpp"
#include "transport/mpi/persistent.hpp"

namespace nearpeak {

// What MPI is told to send from: `out`, or the buffer that it receives in.
inline void* sent_from(const std::optional<std::size_t>& in_place, void* out) {
  return in_place ? MPI_IN_PLACE : out;
}

inline MPI_Comm comm_of(const CollectiveOperation& operation) { return comm_of(operation.group()); }

template <class Operation>
class MpiCollective final : public CollectiveCase {
 public:
  // As CollectiveCase; throws Unfit on all ranks where the library lacks the way to call it.
  MpiCollective(const CaseContext& context, Operation operation)
      : CollectiveCase(context, operation.buffers(), operation.contents()),
        operation_(std::move(operation)),
        blocking_(calls_are(context, kBlocking)),
        persistent_(calls_are(context, kPersistent)) {
    AskPersistent ask;
    operation_.call(ask, nullptr, nullptr);
    if (persistent_ && !ask.there)
      throw Unfit("the library has no persistent form of this operation");
    if (const std::string why = why_no_requests(slots(), kMost); persistent_ && !why.empty())
      throw Unfit(why);
  }
  ~MpiCollective() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  void begin_round(std::uint64_t round, Part part) override {
    CollectiveCase::begin_round(round, part);
    if (!persistent_ || !requests_.empty()) return;
    requests_.resize(slots(), MPI_REQUEST_NULL);
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      Initialise calls{comm_of(operation_), requests_[slot]};
      operation_.call(calls, sent_from(in_place(), out(slot)), in(slot));
    }
  }

  void run(std::uint64_t n) override {
    arrive();
    call(n);
    leave();
  }

 private:
  void call(std::uint64_t n) {
    if (blocking_) return call_with(Blocking{comm_of(operation_)}, n);
    if (!persistent_) return call_with(Nonblocking{comm_of(operation_)}, n);
    for (std::uint64_t i = 0; i < n; ++i) {
      MPI_Request& request = requests_[begin()];
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }

  std::size_t begin() {
    const std::size_t slot = next_slot();
    touch(slot);
    return slot;
  }
  template <class Calls>
  void call_with(Calls calls, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::size_t slot = begin();
      operation_.call(calls, sent_from(in_place(), out(slot)), in(slot));
    }
  }

  static constexpr std::uint64_t kMost = 16384;  // requests, of 4 KB, more with many ranks

  const Operation operation_;
  const bool blocking_;
  const bool persistent_;
  std::vector<MPI_Request> requests_;  // of a persistent operation, one for each slot
};

// An operation that is begun, and goes on while this rank computes.
template <class Operation>
class BesideComputation final : public Overlapping<CollectiveCase> {
 public:
  // As CollectiveCase.
  BesideComputation(std::unique_ptr<OverlapTimer> timer, const CaseContext& context,
                    Operation operation)
      : Overlapping(std::move(timer), context, operation.buffers(), operation.contents()),
        operation_(std::move(operation)) {}

 private:
  void begin() override {
    arrive();
    const std::size_t slot = next_slot();
    touch(slot);
    Begin calls{comm_of(operation_), request_};
    operation_.call(calls, sent_from(in_place(), out(slot)), in(slot));
  }
  void test() override {
    int done = 0;
    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  }
  void finish() override {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    leave();
  }

  const Operation operation_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

inline Axis calls_of_collectives() {
  return {kCalls,
          {kBlocking, "nonblocking", kPersistent},
          "blocking: the call; nonblocking: begun, then waited for; persistent: set up before "
          "(MPI 4)"};
}

// The operation by itself; and begun, beside computation, as a benchmark of the family `overlap`.
template <class Operation>
std::vector<Benchmark> collective(const BenchmarkInfo& info, const std::vector<Axis>& axes = {}) {
  std::vector<Axis> called = axes;
  called.insert(called.begin(), calls_of_collectives());
  const Benchmark alone = collective_benchmark(
      info, std::move(called), [](const CaseContext& context) -> std::unique_ptr<Case> {
        return std::make_unique<MpiCollective<Operation>>(context, Operation(context));
      });
  return {alone,
          overlap_benchmark("i" + info.name, alone.info, axes,
                            [](const CaseContext& context,
                               std::unique_ptr<OverlapTimer> timer) -> std::unique_ptr<Case> {
                              return std::make_unique<BesideComputation<Operation>>(
                                  std::move(timer), context, Operation(context));
                            })};
}

}  // namespace nearpeak
