// SPDX-License-Identifier: Apache-2.0
// Communication beside computation: each alone, then both, again and again in one launch. What is
// communicated is a Case that can begin, test and finish it (Communication).
#pragma once

#include <array>
#include <utility>

#include "benchmark/benchmark.hpp"
#include "overlap/computation.hpp"

namespace nearpeak {

// Times the three; phases and values are as Case has them. A time is that of the slowest rank.
class OverlapTimer {
 public:
  // Collective. Throws Unfit on all ranks where one cannot compute as it is to.
  explicit OverlapTimer(const CaseContext& context);

  // What it takes to fit the computation to the communication, about and at most.
  void prepare_within(double ns) { most_us_ = ns / 1e3; }
  // That of the communication alone.
  void first_use(Communication& communication) const;
  void run(std::uint64_t n, Communication& communication);
  // One communication for each payload: beside computation, or alone, in turn.
  void run_round(std::uint64_t round, Communication& communication);

  const Phases& phases() const { return phases_; }
  // Both at once over the longer of the two, which has its usual time.
  std::vector<double> values(const Times& times) const;

 private:
  void fit(Communication& communication);
  void measure(Communication& communication, double* ns);
  void reduce(std::uint64_t n);

  Group& group_;
  std::unique_ptr<Computation> computation_;
  bool fitted_ = false;
  double most_us_ = 0;
  std::vector<double> all_ns_;  // of each iteration, on this rank
  Phases phases_;
};

// A Base, made of what follows the first argument, that communicates beside computation. What it
// computes is made first: on all ranks or on none, before one of them may lack memory.
template <class Base>
class Overlapping : public Base, protected Communication {
 public:
  template <class... Arguments>
  explicit Overlapping(std::unique_ptr<OverlapTimer> timer, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), timer_(std::move(timer)) {}

  void prepare_within(double ns) final { timer_->prepare_within(ns); }
  void first_use() final { timer_->first_use(*this); }
  // An iteration communicates twice, and fitting the computation more often.
  std::optional<LinkBytes> payload() const final { return std::nullopt; }
  void run(std::uint64_t n) final { timer_->run(n, *this); }
  void run_round(std::uint64_t round) final { timer_->run_round(round, *this); }
  std::vector<double> values(const Times& times) const final { return timer_->values(times); }
  const Phases& phases() const final { return timer_->phases(); }

 private:
  const std::unique_ptr<OverlapTimer> timer_;
};

// The benchmark `name`, of the family `overlap`: on as many ranks and of the same sizes
// as what `alone` says, with these axes besides.
Benchmark overlap_benchmark(
    const std::string& name, const BenchmarkInfo& alone, std::vector<Axis> axes,
    std::function<std::unique_ptr<Case>(const CaseContext&, std::unique_ptr<OverlapTimer>)> make);

}  // namespace nearpeak
