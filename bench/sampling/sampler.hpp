// SPDX-License-Identifier: Apache-2.0
// How one case is sampled: warm-up, then a time slot of timed batches. One policy for every
// benchmark and every ceiling, so that both are measured alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sampling/clock.hpp"

namespace nearpeak {

// How the participants of a case agree on what to do next. One of them, the leader, holds the
// clock.
class Coordinator {
 public:
  virtual ~Coordinator() = default;
  virtual bool leads() const = 0;
  // Returns the leader's value to every participant; the others' argument is ignored.
  virtual std::uint64_t agree(std::uint64_t leaders_value) = 0;
};

// Alone: one process, one thread.
class Alone final : public Coordinator {
 public:
  bool leads() const override { return true; }
  std::uint64_t agree(std::uint64_t value) override { return value; }
};

struct SamplingPolicy {
  double slot_s = 0.1;             // time for timed samples of one case
  double limit_s = 10.0;           // one case never takes much longer, even for fewer samples
  std::uint64_t min_samples = 11;  // taken beyond the slot if need be
  std::uint64_t max_kept = 256;    // of more samples every n-th is kept, spread over the slot
  std::uint64_t min_warmup = 1;    // iterations: at least one per buffer
};

struct Measurement {
  std::vector<double> samples_us;  // microseconds per iteration, in order; empty unless leading
  std::uint64_t batch = 1;         // iterations in one sample
  std::uint64_t kept_every = 1;
  std::uint64_t iterations = 0;  // timed
  std::uint64_t warmup_iterations = 0;
  double first_use_us = 0;  // the very first iteration
  double seconds = 0;
  std::optional<std::string> limited;  // why there are fewer samples than asked for
};

// Runs n iterations of a case on this participant; all participants run the same n.
using Iterate = std::function<void(std::uint64_t n)>;

class Sampler {
 public:
  Sampler(Coordinator& coordinator, const ClockQuality& clock)
      : coordinator_(coordinator), clock_(clock) {}

  // Collective over the participants. The leader's result holds the samples.
  Measurement measure(const SamplingPolicy& policy, const Iterate& iterate);

 private:
  // Returns the leader's estimate of nanoseconds per iteration.
  double warm_up(const SamplingPolicy& policy, const Iterate& iterate, Measurement& result);

  Coordinator& coordinator_;
  ClockQuality clock_;
};

double median(std::vector<double> values);                     // of at least one value
double quantile(std::vector<double> values, double fraction);  // linear between order statistics

}  // namespace nearpeak
