// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.hpp"

#include <algorithm>
#include <cmath>

namespace nearpeak {
namespace {

constexpr double kNs = 1e9;
constexpr double kSteady = 0.01;         // two successive warm-up batches this near are steady
constexpr double kWarmUpShare = 0.1;     // of the slot
constexpr double kMinTicks = 20;         // a sample lasts at least this many clock ticks ...
constexpr double kMaxClockShare = 0.01;  // ... and reading the clock is at most this share of it

std::uint64_t at_least_one(double value) {
  return value > 1 ? static_cast<std::uint64_t>(std::ceil(value)) : 1;
}

// Where the foretold number of samples was far too low, every second one goes until few enough are
// left, still spread over the slot.
void thin(std::vector<double>& samples) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); i += 2) samples[kept++] = samples[i];
  samples.resize(kept);
}

}  // namespace

// One case being sampled on this rank.
class Sampler::Run {
 public:
  Run(Group& group, const ClockQuality& clock, const std::optional<CommonClock>& common,
      const SamplingPolicy& policy, Sampled& sampled)
      : group_(group),
        policy_(policy),
        sampled_(sampled),
        common_(common),
        shortest_ns_(std::max(kMinTicks * clock.tick_ns, clock.read_ns / kMaxClockShare)),
        keeps_(group.leads() || policy.reduce != Reduce::kLeader || policy.keep_ranks),
        apart_(policy.sync != Sync::kNone || sampled.prepares()) {}

  Measurement measure() {
    const std::int64_t begin = now_ns();
    warm_up();
    set_batch();
    if (keeps_) result_.samples_us.reserve(2 * policy_.max_kept);
    while (const std::uint64_t round = next_round(begin)) {
      take(round);
      // A warm-up that was disturbed promised longer samples than these: they are too short for the
      // clock, so they are given up.
      const double got_ns = per_iteration_ns_ * static_cast<double>(result_.batch);
      if (group_.broadcast(got_ns < shortest_ns_ / 2 ? 1 : 0) == 0) continue;
      result_.warmup_iterations += taken_ * result_.batch;
      result_.samples_us.clear();
      for (auto& phase : result_.phases_us) phase.clear();
      taken_ = 0;
      spent_ns_ = 0;
      set_batch();
    }
    while (result_.samples_us.size() > 2 * policy_.max_kept) {
      thin(result_.samples_us);
      for (auto& phase : result_.phases_us) thin(phase);
      result_.kept_every *= 2;
    }
    result_.iterations = taken_ * result_.batch;
    if (taken_ >= policy_.min_samples) result_.limited.reset();
    reduce();
    result_.seconds = static_cast<double>(now_ns() - begin) / kNs;
    return std::move(result_);
  }

 private:
  void warm_up() {
    const std::int64_t begin = now_ns();
    begin_sample();
    sampled_.run(1);
    result_.first_use_us = static_cast<double>(now_ns() - begin) / 1e3;
    result_.warmup_iterations = 1;

    const std::int64_t since = now_ns();
    for (std::uint64_t wanted = 1;; wanted *= 2) {
      const std::uint64_t count = group_.broadcast(wanted);
      if (count == 0) break;
      begin_sample();
      const std::int64_t start = now_ns();
      sampled_.run(count);
      const std::int64_t end = now_ns();
      const double previous = per_iteration_ns_;
      per_iteration_ns_ = static_cast<double>(end - start) / static_cast<double>(count);
      result_.warmup_iterations += count;
      const double spent_s = static_cast<double>(end - since) / kNs;
      const bool steady = std::abs(per_iteration_ns_ - previous) < kSteady * per_iteration_ns_ &&
                          spent_s > policy_.min_warmup_s;
      const bool used = result_.warmup_iterations >= policy_.min_warmup || spent_s > policy_.slot_s;
      if (used && (steady || spent_s > kWarmUpShare * policy_.slot_s)) wanted = 0;
    }
    per_iteration_ns_ = std::max(1.0, per_iteration_ns_);
    per_sample_ns_ = 0;
  }

  // How many iterations a sample takes, and which samples are kept, by the time per iteration that
  // the leader knows now.
  void set_batch() {
    result_.batch = group_.broadcast(at_least_one(shortest_ns_ / per_iteration_ns_));
    const double fit = policy_.slot_s * kNs / sample_ns();
    result_.kept_every =
        group_.broadcast(at_least_one(fit / static_cast<double>(policy_.max_kept)));
  }

  double sample_ns() const {
    return std::max(per_sample_ns_, per_iteration_ns_ * static_cast<double>(result_.batch));
  }

  // The leader foretells how many samples fill what is left of the slot, and looks again.
  std::uint64_t next_round(std::int64_t begin) {
    const double left_ns = policy_.slot_s * kNs - spent_ns_;
    const double limit_left = policy_.limit_s * kNs - static_cast<double>(now_ns() - begin);
    double wanted = std::floor(left_ns / sample_ns());
    if (taken_ < policy_.min_samples)
      wanted = std::max(wanted, static_cast<double>(policy_.min_samples - taken_));
    const double possible = std::floor(limit_left / sample_ns());
    if (wanted > possible && taken_ < policy_.min_samples) result_.limited = "time limit of a case";
    wanted = std::min(wanted, possible);
    if (taken_ == 0) wanted = std::max(wanted, 1.0);
    const bool enough =
        taken_ >= policy_.min_samples && left_ns < kWarmUpShare * policy_.slot_s * kNs;
    return group_.broadcast(wanted < 1 || enough ? 0 : static_cast<std::uint64_t>(wanted));
  }

  void begin_sample() {
    if (sampled_.prepares()) sampled_.prepare();
    if (policy_.sync == Sync::kBarrier) group_.barrier();
    if (policy_.sync != Sync::kClock) return;
    constexpr int kSlack = 3;  // times what telling takes at best
    const std::int64_t start =
        group_.broadcast<std::int64_t>(now_ns() + kSlack * common_->telling_ns) + common_->ahead_ns;
    while (now_ns() < start) {
    }
  }

  void take(std::uint64_t round) {
    begin_sample();
    sampled_.run(1);  // untimed: agreeing has put the ranks out of step
    const std::int64_t start = now_ns();
    std::int64_t before = start;
    double timed_ns = 0;
    for (std::uint64_t i = 0; i < round; ++i) {
      if (apart_) {
        begin_sample();
        before = now_ns();
      }
      sampled_.run(result_.batch);
      const std::int64_t after = now_ns();
      if (keeps_ && taken_ % result_.kept_every == 0) keep(after - before);
      timed_ns += static_cast<double>(after - before);
      ++taken_;
      before = after;
    }
    const double all_ns = static_cast<double>(before - start);
    spent_ns_ += all_ns;
    per_sample_ns_ = all_ns / static_cast<double>(round);
    per_iteration_ns_ = std::max(1.0, timed_ns / static_cast<double>(round * result_.batch));
  }

  void keep(std::int64_t ns) {
    const double per_us = 1e3 * static_cast<double>(result_.batch);
    result_.samples_us.push_back(static_cast<double>(ns) / per_us);
    const std::vector<double>& phases = sampled_.phases_ns();
    result_.phases_us.resize(phases.size());
    for (std::size_t i = 0; i < phases.size(); ++i)
      result_.phases_us[i].push_back(phases[i] / per_us);
  }

  // To what the leader records. A phase is the leader's own.
  void reduce() {
    if (policy_.reduce == Reduce::kLeader && !policy_.keep_ranks) {
      if (!group_.leads()) result_.samples_us.clear();
      return;
    }
    const std::size_t count = result_.samples_us.size();
    const std::vector<double> all = group_.gather(result_.samples_us);
    if (!group_.leads()) {
      result_.samples_us.clear();
      return;
    }
    for (int rank = 0; rank < group_.size(); ++rank) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * count);
      const std::vector<double> theirs(first, first + static_cast<std::ptrdiff_t>(count));
      if (policy_.reduce == Reduce::kMaximum)
        for (std::size_t i = 0; i < count; ++i)
          result_.samples_us[i] = std::max(result_.samples_us[i], theirs[i]);
      if (policy_.keep_ranks) result_.ranks_us.push_back(theirs);
    }
  }

  Group& group_;
  const SamplingPolicy& policy_;
  Sampled& sampled_;
  const std::optional<CommonClock>& common_;
  const double shortest_ns_;  // of a sample, for the clock
  const bool keeps_;
  const bool apart_;  // samples do not follow each other at once
  Measurement result_;
  double per_iteration_ns_ = 0;
  double per_sample_ns_ = 0;  // with what is done between samples
  std::uint64_t taken_ = 0;
  double spent_ns_ = 0;
};

Measurement Sampler::measure(const SamplingPolicy& policy, Sampled& sampled) {
  if (policy.sync == Sync::kClock && !common_) common_ = measure_common_clock(group_);
  return Run(group_, clock_, common_, policy, sampled).measure();
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const double position = fraction * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  const double weight = position - static_cast<double>(low);
  return values[low] * (1 - weight) + values[high] * weight;
}

}  // namespace nearpeak
