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
class Beside {
 public:
  // Collective. Throws Unfit on all ranks where one cannot compute as it is to.
  explicit Beside(const CaseContext& context);

  void begin_round(std::uint64_t round) { round_ = round; }
  void run(std::uint64_t n, Communication& communication);

  std::vector<std::string> phases() const;
  const std::vector<double>& phases_ns() const { return phases_ns_; }
  // Both at once over the longer of the two, which has its usual time.
  std::vector<double> values(const Times& times) const;

 private:
  void verify(Communication& communication);
  void fit(Communication& communication);
  void measure(Communication& communication, double* ns);
  void reduce(std::uint64_t n);

  Group& group_;
  std::unique_ptr<Computation> computation_;
  enum class State { kUnused, kUsed, kFitted } state_ = State::kUnused;
  std::uint64_t round_ = 0;
  std::vector<double> all_ns_;  // of each iteration, on this rank
  std::vector<double> phases_ns_;
};

// A Base, made of what follows the first argument, that communicates beside computation. What it
// computes is made first: on all ranks or on none, before one of them may lack memory.
template <class Base>
class Overlapping : public Base, protected Communication {
 public:
  template <class... Arguments>
  explicit Overlapping(std::unique_ptr<Beside> beside, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), beside_(std::move(beside)) {}

  void begin_round(std::uint64_t round, Part part) override {
    Base::begin_round(round, part);
    beside_->begin_round(round);
  }
  void run(std::uint64_t n) final { beside_->run(n, *this); }
  std::vector<double> values(const Times& times) const final { return beside_->values(times); }
  std::vector<std::string> phases() const final { return beside_->phases(); }
  const std::vector<double>& phases_ns() const final { return beside_->phases_ns(); }

 private:
  const std::unique_ptr<Beside> beside_;
};

// The benchmark `name`, of the family `overlap`: on as many ranks and of the same sizes
// as what `alone` says, with these axes besides.
Benchmark overlap_benchmark(
    const std::string& name, const BenchmarkInfo& alone, std::vector<Axis> axes,
    std::function<std::unique_ptr<Case>(const CaseContext&, std::unique_ptr<Beside>)> make);

}  // namespace nearpeak
