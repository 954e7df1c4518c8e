// SPDX-License-Identifier: Apache-2.0
// How one case is sampled: warm-up, then a time slot of timed batches. One policy for every
// benchmark and every ceiling, so that both are measured alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "group/group.hpp"
#include "options/options.hpp"
#include "sampling/clock.hpp"
#include "sampling/phases.hpp"
#include "sampling/tail.hpp"

namespace nearpeak {

// How the ranks begin an iteration. Where they begin it together, as every call of a collective
// operation must to be compared with another, its time is taken alone, and a sample adds up the
// times of as many as the clock needs.
enum class Sync {
  kNone,    // as they are: their messages keep them in step
  kBarrier  // behind a barrier of the group
};

// Whose time a sample is. kMaximum: of every iteration that begins anew (Sync) the longest of all
// ranks, and of those the mean; else the longest of the ranks' samples.
enum class Reduce { kLeader, kMaximum, kMean };

// The first three, whose usual values the options have, are set by usual_policy.
struct SamplingPolicy {
  double slot_s = 0;                // time for timed samples of one case
  double limit_s = 0;               // one case never takes much longer, whatever the slot is
  std::uint64_t least_samples = 0;  // taken beyond the slot if need be
  std::uint64_t max_kept = 256;     // of more samples every n-th is kept, spread over the slot
  std::uint64_t min_warmup = 1;     // iterations, if they fit into a slot
  double min_warmup_s = 0;          // clocks of devices rise while they work
  // Where there is one: a second iteration that takes longer than this, on the leader, and than the
  // slot is the only sample.
  std::optional<double> hopeless_us;
  // Where there is one: if the first two iterations both take longer than this, on the leader, the
  // quicker of them is the only sample, and the case is given up.
  std::optional<double> budget_us;
  Sync sync = Sync::kNone;
  Reduce reduce = Reduce::kLeader;
  bool keep_ranks = false;  // also the samples of every rank
  // Also the times of all iterations of the leader, single ones, where they follow each other and
  // have no phases.
  bool with_tail = false;
  // Called outside of what is timed, before the ranks fall in step again: after the warm-up and
  // between rounds, of which none is foretold to take longer than `longest_round_s`. Not
  // collective.
  std::function<void()> between = nullptr;
  std::optional<double> longest_round_s = {};
};
// As the options ask.
SamplingPolicy usual_policy(const CommonOptions& options);

struct Measurement {
  std::vector<double> samples_us;              // per iteration, in order; empty unless leading
  std::vector<std::vector<double>> phases_us;  // of each phase: as many, of the same rank
  // Where samples are the longest of all ranks, and so phases: of the rank that took least, and the
  // mean of all.
  std::vector<std::vector<double>> shortest_phases_us;
  std::vector<std::vector<double>> mean_phases_us;
  std::vector<std::vector<double>> ranks_us;  // of each rank, where they are kept
  std::optional<Tail> tail;                   // where the policy asks for it
  std::uint64_t batch = 1;                    // iterations in one sample
  std::uint64_t kept_every = 1;
  std::uint64_t iterations = 0;  // timed
  std::uint64_t warmup_iterations = 0;
  std::uint64_t all_iterations = 0;  // with those that put the ranks in step, and the first use
  double first_use_us = 0;           // the very first iteration, or operation of it
  double seconds = 0;
  bool hopeless = false;               // as the policy has it; known on every rank,
  bool too_slow = false;               // and so is that it was given up for its budget
  std::optional<std::string> limited;  // why there are fewer samples than asked for
};

// What is sampled, on this rank.
class Sampled {
 public:
  virtual ~Sampled() = default;
  // All ranks run the same n.
  virtual void run(std::uint64_t n) = 0;
  // The very first: of an iteration that is many operations, one of these.
  virtual void first_use() { run(1); }
  // Before that: what it may take to find out how it is to be run, where it has to.
  virtual void prepare_within(double /*ns*/) {}
  // Of a sample, where iterations are more than the clock needs: because nobody waits between them,
  // but at last, or because the first and the last of a sample are unlike the others.
  virtual double least_sample_ns() const { return 0; }
  // Nanoseconds of the last run, where what it took to begin and to end is no part of it.
  virtual std::optional<double> own_ns() const { return std::nullopt; }
  // Of the last run; always the same ones.
  virtual const Phases& phases() const {
    static const Phases none;
    return none;
  }
};

// Something simple that is done n times.
class Repeated final : public Sampled {
 public:
  explicit Repeated(std::function<void(std::uint64_t n)> repeat) : repeat_(std::move(repeat)) {}
  void run(std::uint64_t n) override { repeat_(n); }

 private:
  std::function<void(std::uint64_t n)> repeat_;
};

class Sampler {
 public:
  Sampler(Group& group, const ClockQuality& clock) : group_(group), clock_(clock) {}

  // Collective over the group. The leader's result holds the samples.
  Measurement measure(const SamplingPolicy& policy, Sampled& sampled);

 private:
  class Run;

  Group& group_;
  ClockQuality clock_;
};

double median(std::vector<double> values);                     // of at least one value
double quantile(std::vector<double> values, double fraction);  // linear between order statistics

}  // namespace nearpeak
