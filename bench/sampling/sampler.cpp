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
void thin(Measurement& result, std::uint64_t most) {
  std::vector<double>& samples = result.samples_us;
  while (samples.size() > most) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < samples.size(); i += 2) samples[kept++] = samples[i];
    samples.resize(kept);
    result.kept_every *= 2;
  }
}

}  // namespace

double Sampler::warm_up(const SamplingPolicy& policy, const Iterate& iterate, Measurement& result) {
  const std::int64_t begin = now_ns();
  iterate(1);
  result.first_use_us = static_cast<double>(now_ns() - begin) / 1e3;
  if (policy.min_warmup > 1) iterate(policy.min_warmup - 1);
  result.warmup_iterations = std::max<std::uint64_t>(1, policy.min_warmup);

  const std::int64_t every_buffer_used = now_ns();
  double per_iteration = 0;
  for (std::uint64_t wanted = 1;; wanted *= 2) {
    const std::int64_t start = now_ns();
    const std::uint64_t count = coordinator_.agree(wanted);
    if (count == 0) return per_iteration;
    iterate(count);
    const double previous = per_iteration;
    const std::int64_t end = now_ns();
    per_iteration = static_cast<double>(end - start) / static_cast<double>(count);
    result.warmup_iterations += count;
    const bool steady = std::abs(per_iteration - previous) < kSteady * per_iteration;
    const double spent = static_cast<double>(end - every_buffer_used);
    if (steady || spent > kWarmUpShare * policy.slot_s * kNs) wanted = 0;
  }
}

Measurement Sampler::measure(const SamplingPolicy& policy, const Iterate& iterate) {
  Measurement result;
  const std::int64_t begin = now_ns();
  double per_iteration = std::max(1.0, warm_up(policy, iterate, result));

  // How many iterations a sample takes, and which samples are kept, by the time per iteration that
  // is known now.
  const double shortest_ns = std::max(kMinTicks * clock_.tick_ns, clock_.read_ns / kMaxClockShare);
  const auto set_batch = [&] {
    result.batch = coordinator_.agree(at_least_one(shortest_ns / per_iteration));
    const double sample_ns = per_iteration * static_cast<double>(result.batch);
    result.kept_every =
        at_least_one(policy.slot_s * kNs / sample_ns / static_cast<double>(policy.max_kept));
  };
  set_batch();
  if (coordinator_.leads()) result.samples_us.reserve(2 * policy.max_kept);

  std::uint64_t taken = 0;
  double timed_ns = 0;
  while (true) {
    // Rounds: the leader foretells how many samples fill what is left of the slot, and looks again.
    const double sample_ns = per_iteration * static_cast<double>(result.batch);
    const double left_ns = policy.slot_s * kNs - timed_ns;
    const double limit_left = policy.limit_s * kNs - static_cast<double>(now_ns() - begin);
    double wanted = std::floor(left_ns / sample_ns);
    if (taken < policy.min_samples) wanted = std::max(wanted, double(policy.min_samples - taken));
    const double possible = std::floor(limit_left / sample_ns);
    if (wanted > possible && taken < policy.min_samples) result.limited = "time limit of a case";
    wanted = std::min(wanted, possible);
    if (taken == 0) wanted = std::max(wanted, 1.0);
    const bool enough = taken >= policy.min_samples && left_ns < kWarmUpShare * policy.slot_s * kNs;
    const std::uint64_t round =
        coordinator_.agree(wanted < 1 || enough ? 0 : std::uint64_t(wanted));
    if (round == 0) break;

    iterate(1);  // untimed: agreeing has put the participants out of step
    const std::int64_t start = now_ns();
    std::int64_t before = start;
    for (std::uint64_t i = 0; i < round; ++i) {
      iterate(result.batch);
      const std::int64_t after = now_ns();
      if (taken % result.kept_every == 0 && coordinator_.leads())
        result.samples_us.push_back(static_cast<double>(after - before) / 1e3 /
                                    static_cast<double>(result.batch));
      ++taken;
      before = after;
    }
    const double round_ns = static_cast<double>(before - start);
    timed_ns += round_ns;
    per_iteration = std::max(1.0, round_ns / static_cast<double>(round * result.batch));

    // A warm-up that was disturbed promised longer samples than these: they are too short for the
    // clock, so they are given up.
    const double got_ns = per_iteration * static_cast<double>(result.batch);
    if (coordinator_.agree(got_ns < shortest_ns / 2 ? 1 : 0) == 0) continue;
    result.warmup_iterations += taken * result.batch;
    result.samples_us.clear();
    taken = 0;
    timed_ns = 0;
    set_batch();
  }
  thin(result, 2 * policy.max_kept);
  result.iterations = taken * result.batch;
  if (taken >= policy.min_samples) result.limited.reset();
  result.seconds = static_cast<double>(now_ns() - begin) / kNs;
  return result;
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
