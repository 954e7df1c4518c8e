// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "marks/marks.hpp"

namespace nearpeak {
namespace {

constexpr double kNs = 1e9;
constexpr double kSteady = 0.01;         // two successive warm-up batches this near are steady
constexpr double kWarmUpShare = 0.1;     // of the slot, or of the limit where that is less
constexpr double kPrepareShare = 0.25;   // of the limit
constexpr double kMinTicks = 20;         // a sample lasts at least this many clock ticks ...
constexpr double kMaxClockShare = 0.01;  // ... and reading the clock is at most this share of it
// A forecast may be wrong, and a round goes on to its end. So it is at most so many times as long
// as what it was foretold from, or so short that it may take a hundred times as long: then it is
// not parted, as every round begins with an iteration that is not timed, and one that follows no
// other.
constexpr double kMostGrowth = 16;
constexpr double kShortShare = 0.01;  // of what is left of the limit
constexpr double kTailShare = 0.1;  // of the slot, for single iterations where samples have several
// Times of all ranks that are reduced at once, or those of one sample.
constexpr std::size_t kMostGathered = std::size_t{1} << 16;

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
  Run(Group& group, const ClockQuality& clock, const SamplingPolicy& policy, Sampled& sampled)
      : group_(group),
        policy_(policy),
        sampled_(sampled),
        phases_ns_(sampled.phases().count()),
        width_(1 + phases_ns_.size()),
        // Of what is timed: each phase is.
        shortest_ns_(
            std::max(sampled.least_sample_ns(),
                     static_cast<double>(std::max<std::size_t>(1, phases_ns_.size())) *
                         std::max(kMinTicks * clock.tick_ns, clock.read_ns / kMaxClockShare))),
        keeps_(group.leads() || policy.reduce != Reduce::kLeader || policy.keep_ranks),
        apart_(policy.sync == Sync::kBarrier),
        longest_(policy.reduce == Reduce::kMaximum),
        // Iterations that nobody marked would disturb who looks at those of samples.
        with_tail_(policy.with_tail && !apart_ && phases_ns_.empty() &&
                   sampled.least_sample_ns() == 0 && mark_function == nullptr) {}

  Measurement measure() {
    begin_ns_ = now_ns();
    warm_up();
    if (!result_.hopeless && !result_.too_slow) sample();
    reduce();
    result_.seconds = static_cast<double>(now_ns() - begin_ns_) / kNs;
    return std::move(result_);
  }

 private:
  void sample() {
    warm_ = true;
    set_batch();
    if (keeps_) own_us_.reserve(2 * policy_.max_kept);
    while (const std::uint64_t round = next_round()) {
      take(round);
      // A warm-up that was disturbed promised longer samples than these: they are too short for the
      // clock, so they are given up.
      const double got_ns = per_iteration_ns_ * static_cast<double>(result_.batch);
      if (group_.broadcast(got_ns < shortest_ns_ / 2 ? 1 : 0) == 0) continue;
      result_.warmup_iterations += taken_ * result_.batch;
      for_series([](std::vector<double>& series) { series.clear(); });
      rows_ns_.clear();
      taken_ = 0;
      spent_ns_ = 0;
      result_.tail.reset();
      set_batch();
    }
    reduce_rows();
    while (own_us_.size() > 2 * policy_.max_kept) {
      for_series(thin);
      result_.kept_every *= 2;
    }
    result_.iterations = taken_ * result_.batch;
    if (taken_ >= policy_.least_samples) result_.limited.reset();
    if (with_tail_ && result_.batch > 1) time_single();
  }

  // For the tail alone: each has a reading of the clock in it.
  void time_single() {
    result_.tail.emplace();
    const double for_all_ns = std::min(kTailShare * filled_ns_, limit_left_ns());
    const std::uint64_t count = group_.broadcast(at_least_one(for_all_ns / per_iteration_ns_));
    fall_in_step();
    std::int64_t before = now_ns();
    for (std::uint64_t i = 0; i < count; ++i) {
      sampled_.run(1);
      const std::int64_t after = now_ns();
      result_.tail->add(spent(after - before));
      before = after;
    }
    result_.all_iterations += count;
  }

  void warm_up() {
    mark(Mark::kPrepares, 0, group_.rank(), group_.size());
    sampled_.prepare_within(kPrepareShare * policy_.limit_s * kNs);
    begin_sample();
    const std::int64_t first_ns = now_ns();
    sampled_.first_use();
    result_.first_use_us = static_cast<double>(spent(now_ns() - first_ns)) / 1e3;
    result_.warmup_iterations = result_.all_iterations = 1;
    if (is_too_slow()) return;

    const double most_s = kWarmUpShare * std::min(policy_.slot_s, policy_.limit_s);
    const double most_used_s = std::min(policy_.slot_s, kWarmUpShare * policy_.limit_s);
    const std::int64_t since = now_ns();
    std::uint64_t wanted = 1;
    while (const std::uint64_t count = group_.broadcast(wanted)) {
      const double previous = per_iteration_ns_;
      const std::int64_t start = now_ns();
      const std::int64_t spent_ns = apart_ ? run_apart(count) : run_timed(count);
      seen_ns_ = static_cast<double>(now_ns() - start);
      per_turn_ns_ = seen_ns_ / static_cast<double>(count);
      per_iteration_ns_ = static_cast<double>(spent_ns) / static_cast<double>(count);
      result_.all_iterations += count;
      if (count == 1 && policy_.hopeless_us && group_.broadcast(is_hopeless() ? 1 : 0) != 0)
        return give_up(spent_ns);
      result_.warmup_iterations += count;
      const double spent_s = static_cast<double>(now_ns() - since) / kNs;
      const bool steady = std::abs(per_iteration_ns_ - previous) < kSteady * per_iteration_ns_ &&
                          spent_s > policy_.min_warmup_s;
      const bool used = result_.warmup_iterations >= policy_.min_warmup || spent_s > most_used_s;
      const bool warm = used && (steady || spent_s > most_s);
      wanted = warm ? 0 : 2 * count;
    }
    per_iteration_ns_ = std::max(1.0, per_iteration_ns_);
  }

  // The first iteration may be slow for what is done once: another one confirms it.
  bool is_too_slow() {
    const auto over = [this](double us) {
      return group_.broadcast(us > *policy_.budget_us ? 1 : 0) != 0;
    };
    if (!policy_.budget_us || !over(result_.first_use_us)) return false;
    begin_sample();
    const double again_ns = static_cast<double>(run_timed(1));
    ++result_.all_iterations;
    if (!over(again_ns / 1e3)) return false;
    result_.too_slow = true;
    result_.iterations = 1;
    keep_only(static_cast<std::int64_t>(std::min(again_ns, 1e3 * result_.first_use_us)),
              sampled_.phases().ns());
    return true;
  }

  bool is_hopeless() const {
    return per_iteration_ns_ > std::max(*policy_.hopeless_us * 1e3, policy_.slot_s * kNs);
  }

  void give_up(std::int64_t spent_ns) {
    result_.hopeless = true;
    result_.iterations = 1;
    keep_only(spent_ns, apart_ ? phases_ns_ : sampled_.phases().ns());
  }

  // How many iterations a sample takes, and which samples are kept, by the time per iteration that
  // the leader knows now.
  void set_batch() {
    result_.batch = group_.broadcast(at_least_one(shortest_ns_ / per_iteration_ns_));
    filled_ns_ = left_ns();
    falls_in_step_ = group_.broadcast(per_iteration_ns_ < filled_ns_ ? 1 : 0) != 0;
    const double fit = filled_ns_ / sample_ns();
    result_.kept_every =
        group_.broadcast(at_least_one(fit / static_cast<double>(policy_.max_kept)));
    if (with_tail_ && result_.batch == 1) result_.tail.emplace();
  }

  double sample_ns() const {
    return std::max(per_turn_ns_, per_iteration_ns_) * static_cast<double>(result_.batch);
  }

  double limit_left_ns() const {
    return policy_.limit_s * kNs - static_cast<double>(now_ns() - begin_ns_);
  }
  // Of the slot, if the limit leaves as much.
  double left_ns() const { return std::min(policy_.slot_s * kNs - spent_ns_, limit_left_ns()); }

  // The leader foretells how many samples fill what is left, and looks again.
  std::uint64_t next_round() {
    const double left = left_ns();
    const double limit_left = limit_left_ns();
    double wanted = std::floor(left / sample_ns());
    if (taken_ < policy_.least_samples)
      wanted = std::max(wanted, static_cast<double>(policy_.least_samples - taken_));
    const double possible = std::floor(limit_left / sample_ns());
    if (wanted > possible && taken_ < policy_.least_samples)
      result_.limited = "time limit of a case";
    const double trusted = std::max(kMostGrowth * seen_ns_, kShortShare * limit_left);
    wanted = std::min({wanted, possible, std::max(1.0, std::floor(trusted / sample_ns()))});
    if (policy_.longest_round_s)
      wanted =
          std::min(wanted, std::max(1.0, std::floor(*policy_.longest_round_s * kNs / sample_ns())));
    if (taken_ == 0) wanted = std::max(wanted, 1.0);
    const bool enough = taken_ >= policy_.least_samples && left < kWarmUpShare * filled_ns_;
    return group_.broadcast(wanted < 1 || enough ? 0 : static_cast<std::uint64_t>(wanted));
  }

  void begin_sample() {
    if (apart_) group_.barrier();
  }

  std::int64_t run_timed(std::uint64_t n) {
    const std::int64_t before = now_ns();
    sampled_.run(n);
    return spent(now_ns() - before);
  }

  std::int64_t spent(std::int64_t in_all_ns) const {
    const auto own_ns = sampled_.own_ns();
    return own_ns ? static_cast<std::int64_t>(*own_ns) : in_all_ns;
  }

  // Iterations that each begin anew: only they are timed, and what they add up to is returned.
  // `rows`: each is one.
  std::int64_t run_apart(std::uint64_t n, bool rows = false) {
    std::int64_t spent_ns = 0;
    std::fill(phases_ns_.begin(), phases_ns_.end(), 0.0);
    for (std::uint64_t i = 0; i < n; ++i) {
      begin_sample();
      if (warm_) mark(Mark::kBegins, 1, group_.rank(), group_.size());
      const std::int64_t one_ns = run_timed(1);
      if (warm_) mark(Mark::kEnds, 1);
      spent_ns += one_ns;
      const std::vector<double>& phases = sampled_.phases().ns();
      for (std::size_t p = 0; p < phases.size(); ++p) phases_ns_[p] += phases[p];
      if (rows) add_row(one_ns, phases);
    }
    return spent_ns;
  }

  void take(std::uint64_t round) {
    if (policy_.between) policy_.between();
    fall_in_step();
    const std::int64_t start = now_ns();
    std::int64_t before = start;
    double timed_ns = 0;
    auto& tail = result_.tail;
    for (std::uint64_t i = 0; i < round; ++i) {
      const bool keeps = keeps_ && taken_ % result_.kept_every == 0;
      std::int64_t spent_ns = 0;
      if (apart_) {
        spent_ns = run_apart(result_.batch, keeps && longest_);
      } else {
        // A sample begins where the one before it ended, but for what it takes to mark both.
        if (mark(Mark::kBegins, 0, group_.rank(), group_.size())) before = now_ns();
        sampled_.run(result_.batch);
        const std::int64_t after = now_ns();
        mark(Mark::kEnds, result_.batch);
        spent_ns = spent(after - before);
        before = after;
      }
      if (tail) tail->add(spent_ns);
      if (keeps) keep(spent_ns, apart_ ? phases_ns_ : sampled_.phases().ns());
      if (apart_ && rows_ns_.size() * ranks() >= kMostGathered) {
        reduce_rows();
        fall_in_step();
      }
      timed_ns += static_cast<double>(spent_ns);
      ++taken_;
    }
    const double all_ns = static_cast<double>(now_ns() - start);
    const auto iterations = static_cast<double>(round * result_.batch);
    result_.all_iterations += round * result_.batch;
    spent_ns_ += all_ns;
    seen_ns_ = all_ns;
    per_turn_ns_ = all_ns / iterations;
    per_iteration_ns_ = std::max(1.0, timed_ns / iterations);
  }

  // Untimed, as agreeing has put the ranks out of step; beside a whole slot that is nothing.
  void fall_in_step() {
    begin_sample();
    if (!falls_in_step_) return;
    sampled_.run(1);
    ++result_.all_iterations;
  }

  void keep(std::int64_t ns, const std::vector<double>& phases) {
    const double per_us = 1e3 * static_cast<double>(result_.batch);
    own_us_.push_back(static_cast<double>(ns) / per_us);
    if (longest_) {
      if (!apart_) add_row(ns, phases);
      return;
    }
    result_.phases_us.resize(phases.size());
    for (std::size_t i = 0; i < phases.size(); ++i)
      result_.phases_us[i].push_back(phases[i] / per_us);
  }

  // Of a measurement that ends with one iteration.
  void keep_only(std::int64_t ns, const std::vector<double>& phases) {
    if (!keeps_) return;
    keep(ns, phases);
    if (longest_ && apart_) add_row(ns, phases);
    reduce_rows();
  }

  void add_row(std::int64_t ns, const std::vector<double>& phases) {
    rows_ns_.push_back(static_cast<double>(ns));
    rows_ns_.insert(rows_ns_.end(), phases.begin(), phases.end());
  }

  // Of iterations that begin anew any rank may be the slowest, now this one and now that: a sample
  // is the mean of the longest times, not the longest of the mean ones.
  void reduce_rows() {
    if (rows_ns_.empty()) return;
    const std::vector<double> all = group_.gather(rows_ns_);
    const std::size_t rows = apart_ ? result_.batch : 1;  // of a sample
    const double per_us = 1e3 * static_cast<double>(result_.batch);
    for (auto* const phases :
         {&result_.phases_us, &result_.shortest_phases_us, &result_.mean_phases_us})
      phases->resize(width_ - 1);
    for (std::size_t first = 0; first < rows_ns_.size(); first += rows * width_) {
      for (std::size_t column = 0; column < width_; ++column) {
        double longest = 0;
        double shortest = 0;
        double total = 0;
        for (std::size_t row = 0; row < rows; ++row) {
          std::size_t at = first + row * width_ + column;
          double most = all[at];
          double least = all[at];
          for (; at < all.size(); at += rows_ns_.size()) {
            most = std::max(most, all[at]);
            least = std::min(least, all[at]);
            total += all[at];
          }
          longest += most;
          shortest += least;
        }
        if (column == 0) {
          result_.samples_us.push_back(longest / per_us);
          continue;
        }
        result_.phases_us[column - 1].push_back(longest / per_us);
        result_.shortest_phases_us[column - 1].push_back(shortest / per_us);
        result_.mean_phases_us[column - 1].push_back(total / per_us / static_cast<double>(ranks()));
      }
    }
    rows_ns_.clear();
  }

  template <class Use>
  void for_series(Use use) {
    use(own_us_);
    use(result_.samples_us);
    for (auto* const phases :
         {&result_.phases_us, &result_.shortest_phases_us, &result_.mean_phases_us})
      for (auto& phase : *phases) use(phase);
  }

  // To what the leader records.
  void reduce() {
    if (policy_.reduce == Reduce::kLeader) result_.samples_us = own_us_;
    if (policy_.reduce == Reduce::kMean || policy_.keep_ranks) {
      const std::size_t count = own_us_.size();
      const std::vector<double> all = group_.gather(own_us_);
      if (policy_.reduce == Reduce::kMean) result_.samples_us.assign(count, 0);
      for (int rank = 0; rank < group_.size(); ++rank) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * count);
        const std::vector<double> theirs(first, first + static_cast<std::ptrdiff_t>(count));
        for (std::size_t i = 0; i < count && policy_.reduce == Reduce::kMean; ++i) {
          double& sample = result_.samples_us[i];
          sample = (sample * rank + theirs[i]) / (rank + 1);
        }
        if (policy_.keep_ranks && group_.leads()) result_.ranks_us.push_back(theirs);
      }
    }
    if (!group_.leads()) result_.samples_us.clear();
  }

  std::size_t ranks() const { return static_cast<std::size_t>(group_.size()); }

  Group& group_;
  const SamplingPolicy& policy_;
  Sampled& sampled_;
  std::vector<double> phases_ns_;  // of iterations that begin anew
  const std::size_t width_;        // of a row
  const double shortest_ns_;       // of a sample
  const bool keeps_;
  const bool apart_;    // iterations do not follow each other at once
  const bool longest_;  // samples are those of the slowest rank
  const bool with_tail_;
  Measurement result_;
  std::vector<double> own_us_;   // samples of this rank
  std::vector<double> rows_ns_;  // not reduced yet: of an iteration, or of a sample whose
                                 // iterations follow each other, the time and its phases
  double per_iteration_ns_ = 0;
  double per_turn_ns_ = 0;  // the same with what is not timed: barriers, what begins a sample
  double seen_ns_ = 0;      // what both are of: the last batch of the warm-up, or the last round
  bool warm_ = false;
  bool falls_in_step_ = true;
  std::uint64_t taken_ = 0;
  double spent_ns_ = 0;
  double filled_ns_ = 0;  // by all rounds
  std::int64_t begin_ns_ = 0;
};

SamplingPolicy usual_policy(const CommonOptions& options) {
  constexpr double kDeviceWarmupS = 0.005;
  SamplingPolicy out;
  out.slot_s = options.slot_ms / 1e3;
  out.limit_s = options.limit_s;
  out.least_samples = options.least_samples;
  if (options.with_device) out.min_warmup_s = kDeviceWarmupS;
  out.keep_ranks = options.keep_ranks;
  return out;
}

Measurement Sampler::measure(const SamplingPolicy& policy, Sampled& sampled) {
  return Run(group_, clock_, policy, sampled).measure();
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
