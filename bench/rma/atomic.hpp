// SPDX-License-Identifier: Apache-2.0
// Operations that combine what the target has with what the origin gives: rank 0 calls them, rank 1
// has the target. An operation is a class of a few lines:
//   explicit Operation(const CaseContext&)    may throw Unfit, on all ranks
//   static constexpr bool kFetches            whether the origin gets what was there before
//   const Atoms& atoms() const                what it works on
//   void call(const AtomicEnds&, std::uint64_t before) const    the `before`-th on this place
#pragma once

#include <limits>

#include "mpi/elements.hpp"
#include "payload/numbers.hpp"
#include "rma/window.hpp"

namespace nearpeak {

// The numbers of an operation on this size: small whole ones, so that what the target holds
// afterwards is exact. They are drawn as in payload/numbers.hpp.
struct Atoms {
  const NumberType* type;
  MPI_Datatype mpi;
  std::size_t count;         // of numbers of one operation
  std::size_t operands = 1;  // rows of as many that the origin takes from, in turn
  // Of row `row` at `index`, in a round.
  std::uint64_t (*operand)(std::size_t row, std::size_t index, std::uint64_t round);
  // What the target holds after `done` operations.
  std::uint64_t (*held)(std::uint64_t done, std::size_t index, std::uint64_t round);
};

// The drawn number at an index, 1 to 31.
std::uint64_t drawn_number(std::size_t index, std::uint64_t stream, std::uint64_t round);

// Integers of 8 bytes, as of OMB's fop and cas.
const NumberType& long_type();

// Adds the operand to what is there.
class Adding {
 public:
  // Of numbers as --type asks, as many as the size has.
  explicit Adding(const CaseContext& context);
  // Of one number of 8 bytes.
  static Atoms one_long();
  const Atoms& atoms() const { return atoms_; }

 protected:
  explicit Adding(const Atoms& atoms) : atoms_(atoms) {}
  int count() const { return static_cast<int>(atoms_.count); }

 private:
  Atoms atoms_;
};

// One operation's arguments.
struct AtomicEnds {
  char* operands;
  char* result;
  int peer;
  MPI_Aint place;
  MPI_Win window;
};

class AtomicCase : public Case {
 public:
  // Collective; throws Unfit on all ranks.
  AtomicCase(const CaseContext& context, const Atoms& atoms, bool fetches);

  std::vector<double> values(const Times& times) const override { return {times.us}; }
  std::uint64_t cycle() const override { return slots_; }
  std::size_t round_bytes() const override { return bytes(); }
  void begin_round(std::uint64_t round, Part part) override;
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override;

 protected:
  RmaWindow& rma() { return window_; }
  std::uint64_t turn() const { return turn_; }  // operations on this slot, until now
  AtomicEnds next_ends() {
    if (writes_) write_lines(operands_->slot(slot_), operands_->layout().bytes);
    return {operands_->slot(slot_), results_->slot(slot_), window_.peer(), window_.place(slot_),
            window_.handle()};
  }
  void advance() {
    if (++slot_ < slots_) return;
    slot_ = 0;
    ++turn_;
  }

 private:
  std::size_t bytes() const { return atoms_.count * atoms_.type->bytes; }
  void write(SlotBuffer& buffer, std::size_t slots, const std::vector<unsigned char>& data);
  std::uint64_t done_on(std::size_t slot) const { return turn_ + (slot < slot_ ? 1 : 0); }
  std::optional<Mismatch> look(const SlotBuffer& buffer, std::size_t slot, std::uint64_t done,
                               std::uint64_t round) const;

  const Atoms atoms_;
  const bool fetches_;
  const bool writes_;
  const std::size_t slots_;
  RmaWindow window_;
  std::unique_ptr<SlotBuffer> operands_;
  std::unique_ptr<SlotBuffer> results_;
  std::size_t slot_ = 0;
  std::uint64_t turn_ = 0;
};

template <class Operation>
class AtomicOf final : public AtomicCase {
 public:
  AtomicOf(const CaseContext& context, const Operation& operation)
      : AtomicCase(context, operation.atoms(), Operation::kFetches), operation_(operation) {}

  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      rma().begin();
      if (rma().is_origin()) operation_.call(next_ends(), turn());
      rma().end();
      advance();
    }
  }

 private:
  const Operation operation_;
};

Benchmark atomic_benchmark(BenchmarkInfo info, std::vector<Axis> axes,
                           std::function<std::unique_ptr<Case>(const CaseContext&)> make);

template <class Operation>
Benchmark atomic(BenchmarkInfo info, std::vector<Axis> axes = {}) {
  return atomic_benchmark(
      std::move(info), std::move(axes), [](const CaseContext& context) -> std::unique_ptr<Case> {
        return std::make_unique<AtomicOf<Operation>>(context, Operation(context));
      });
}

}  // namespace nearpeak
