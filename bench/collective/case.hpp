// SPDX-License-Identifier: Apache-2.0
// One size of a collective operation on one rank, whichever library is called: its buffers, in
// place or not, what they hold and what must have been received.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "collective/contents.hpp"
#include "sampling/clock.hpp"

namespace nearpeak {

inline constexpr const char* kInPlace = "inplace";

// Never so where an operation has no such axis.
inline bool is_in_place(const CaseContext& context) {
  const auto asked = context.axes.find(kInPlace);
  return asked != context.axes.end() && asked->second == "yes";
}

// What buffers one rank needs.
struct CollectiveBuffers {
  std::size_t out_bytes = 0;                 // of what it sends
  std::size_t in_bytes = 0;                  // of what it receives
  std::optional<std::size_t> in_place = {};  // where in the receive buffer it is sent from
  bool overwritten = false;                  // in place: what was sent is gone afterwards
};

// When a rank came to an operation and when it left it, by its clock.
struct Stay {
  std::uint64_t clock;  // the same for ranks that read the same time
  std::int64_t came_ns;
  std::int64_t left_ns;
};

// One size of an operation on this rank, but for the calls.
class CollectiveCase : public Case {
 public:
  // Collective. Throws Unfit on all ranks where the buffers would not fit into the memory of a
  // host, and as allocations do.
  CollectiveCase(const CaseContext& context, const CollectiveBuffers& buffers,
                 std::unique_ptr<Contents> contents);

  std::vector<double> values(const Times& times) const override { return {times.us}; }
  std::uint64_t cycle() const override { return slots_; }
  std::size_t round_bytes() const override;
  std::uint64_t fewest_rounds() const override;
  void begin_round(std::uint64_t round, Part part) override;
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override;

 protected:
  std::size_t slots() const { return slots_; }
  // Null where there are no bytes, and where this rank sends from its receive buffer.
  void* out(std::size_t slot) const;
  void* in(std::size_t slot) const;
  const std::optional<std::size_t>& in_place() const { return buffers_.in_place; }
  // Around an operation that moves no data and is not timed: a rank comes late, another one in each
  // round, and wrong() finds whoever left before it came.
  void arrive() {
    if (ordered_ && round_ > 0) wait_if_late();
  }
  void leave() {
    if (ordered_ && round_ > 0) left_ns_ = now_ns();
  }
  // As --touch asks, before the operation in this slot.
  void touch(std::size_t slot) const;
  // A caller that takes the first slots without next_slot() says how many it used.
  void use_first(std::size_t slots) { used_ = std::max(used_, std::min(slots, slots_)); }
  std::size_t next_slot() {
    const std::size_t slot = next_;
    used_ = std::max(used_, slot + 1);
    if (++next_ == slots_) next_ = 0;
    return slot;
  }

 private:
  int late_rounds() const;
  void wait_if_late();
  std::optional<Mismatch> wrong_in(std::size_t slot, std::uint64_t round) const;
  // The same if it was received in one of the ways of the contents.
  std::optional<Mismatch> wrong_in(std::size_t slot, std::uint64_t round, std::size_t way) const;
  std::optional<Mismatch> left_too_soon() const;

  Group& group_;
  const CollectiveBuffers buffers_;
  const std::unique_ptr<Contents> contents_;
  const std::size_t slots_;
  const bool writes_;
  const bool ordered_;  // it moves no data: what it does is that ranks wait
  std::optional<SlotBuffer> out_;
  std::optional<SlotBuffer> in_;
  mutable Scratch scratch_;
  std::size_t next_ = 0;
  std::size_t used_ = 0;  // slots in this round
  std::uint64_t round_ = 0;
  std::int64_t came_ns_ = 0;
  std::int64_t left_ns_ = 0;
};

// An operation as a benchmark: what `info` leaves out is as collectives have it. Its one metric is
// the time of an operation, from the moment that a barrier ends, on the slowest rank.
Benchmark collective_benchmark(BenchmarkInfo info, std::vector<Axis> axes,
                               std::function<std::unique_ptr<Case>(const CaseContext&)> make);

Axis in_place_axis();

}  // namespace nearpeak
