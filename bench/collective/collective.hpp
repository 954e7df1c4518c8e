// SPDX-License-Identifier: Apache-2.0
// What all collective operations have in common: their buffers, in place or not, the ways to call
// them, their axes. An operation is a class of a few lines (docs/adding-a-benchmark.md):
//   Operation(const CaseContext&)        collective; may throw Unfit, on all ranks
//   Places places() const                what this rank's buffers are
//   std::unique_ptr<Contents> contents() const      and what they hold
//   void call(Calls& calls, void* out, void* in) const   the MPI functions and their arguments
//   MPI_Comm comm() const                on which communicator
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "collective/calls.hpp"
#include "collective/contents.hpp"
#include "mpi/mpi_group.hpp"

namespace nearpeak {

inline constexpr const char* kInPlace = "inplace";

inline bool is_in_place(const CaseContext& context) { return context.axis(kInPlace) == "yes"; }

// What buffers one rank needs. `out` and `in` are null in call() where they have no bytes, and
// `out` is MPI_IN_PLACE where this rank sends from its receive buffer.
struct Places {
  std::size_t out_bytes = 0;                 // of what it sends
  std::size_t in_bytes = 0;                  // of what it receives
  std::optional<std::size_t> in_place = {};  // where in the receive buffer it is sent from
  bool overwritten = false;                  // in place: what was sent is gone afterwards
};

// One size of an operation on this rank, but for the calls.
class CollectiveCase : public Case {
 public:
  // Collective. Throws Unfit on all ranks where the buffers would not fit into the memory of a
  // host, and as allocations do.
  CollectiveCase(const CaseContext& context, const Places& places,
                 std::unique_ptr<Contents> contents);

  std::vector<double> values(const Times& times) const override { return {times.us}; }
  std::uint64_t cycle() const override { return slots_; }
  // Large buffers are looked at in two rounds (runner.cpp): what is received is compared by the
  // CPU.
  std::uint64_t shown() const override { return 8; }
  void begin_round(std::uint64_t round, Part part) override;
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override;

 protected:
  std::size_t slots() const { return slots_; }
  void* out(std::size_t slot) const;
  void* in(std::size_t slot) const;
  // As --touch asks, before the operation in this slot.
  void touch(std::size_t slot) const;
  std::size_t next_slot() {
    const std::size_t slot = next_;
    if (++next_ == slots_) next_ = 0;
    return slot;
  }

 private:
  const Places places_;
  const std::unique_ptr<Contents> contents_;
  const std::size_t slots_;
  const bool writes_;
  SlotBuffer out_;
  SlotBuffer in_;
  std::size_t next_ = 0;
};

enum class Way { kBlocking, kNonblocking, kPersistent };
Way way_of(const CaseContext& context);

template <class Operation>
class CaseOf final : public CollectiveCase {
 public:
  // As CollectiveCase; throws Unfit on all ranks where the library lacks the way to call it.
  CaseOf(const CaseContext& context, Operation operation)
      : CollectiveCase(context, operation.places(), operation.contents()),
        operation_(std::move(operation)),
        way_(way_of(context)) {
    AskPersistent ask;
    operation_.call(ask, nullptr, nullptr);
    if (way_ == Way::kPersistent && !ask.there)
      throw Unfit("the library has no persistent form of this operation");
  }
  ~CaseOf() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  void begin_round(std::uint64_t round, Part part) override {
    CollectiveCase::begin_round(round, part);
    if (way_ != Way::kPersistent || !requests_.empty()) return;
    requests_.resize(slots(), MPI_REQUEST_NULL);
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      Initialise calls{operation_.comm(), requests_[slot]};
      operation_.call(calls, out(slot), in(slot));
    }
  }

  void run(std::uint64_t n) override {
    if (way_ == Way::kBlocking) return call_with(Blocking{operation_.comm()}, n);
    if (way_ == Way::kNonblocking) return call_with(Nonblocking{operation_.comm()}, n);
    for (std::uint64_t i = 0; i < n; ++i) {
      MPI_Request& request = requests_[begin()];
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }

 private:
  std::size_t begin() {
    const std::size_t slot = next_slot();
    touch(slot);
    return slot;
  }
  template <class Calls>
  void call_with(Calls calls, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::size_t slot = begin();
      operation_.call(calls, out(slot), in(slot));
    }
  }

  const Operation operation_;
  const Way way_;
  std::vector<MPI_Request> requests_;  // of a persistent operation, one for each slot
};

// An operation as a benchmark: what `info` leaves out is as collectives have it. Its one metric is
// the time of an operation, from the moment that a barrier ends, on the slowest rank.
Benchmark collective_benchmark(BenchmarkInfo info, std::vector<Axis> axes,
                               std::function<std::unique_ptr<Case>(const CaseContext&)> make);

template <class Operation>
Benchmark collective(BenchmarkInfo info, std::vector<Axis> axes = {}) {
  return collective_benchmark(
      std::move(info), std::move(axes), [](const CaseContext& context) -> std::unique_ptr<Case> {
        return std::make_unique<CaseOf<Operation>>(context, Operation(context));
      });
}

Axis in_place_axis();
// The types of numbers that mpi.h has.
Axis type_axis();

// The numbers of a reduction: their type, and how many `context.bytes` are. Throws Unfit where the
// library lacks the type, or the bytes are no multiple of it.
struct Elements {
  explicit Elements(const CaseContext& context);
  const NumberType& type;
  MPI_Datatype mpi;
  std::size_t count;
};

}  // namespace nearpeak
