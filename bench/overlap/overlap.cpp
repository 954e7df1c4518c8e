// SPDX-License-Identifier: Apache-2.0
#include "overlap/overlap.hpp"

#include <algorithm>

#include "overlap/timed.hpp"

namespace nearpeak {
namespace {

enum Phase : std::size_t { kCommunicate, kCompute, kBoth, kDeviceAlone, kDeviceBeside };
constexpr int kTrials = 5;
constexpr int kAttempts = 3;
constexpr double kAlike = 1.25;       // times as long: near enough for both to hide each other
constexpr double kTrialShare = 0.25;  // of the patience: what the trials of one thing take

}  // namespace

OverlapTimer::OverlapTimer(const CaseContext& context) : group_(context.group) {
  const std::string why =
      group_.first_reason(computes_on_device(context) ? why_no_device_work(context) : "");
  if (!why.empty()) throw Unfit(why);
  on_every_rank(group_, [&] { computation_ = std::make_unique<Computation>(context); });
  std::vector<std::string> names{"communicate", "compute", "both"};
  if (computation_->on_device()) names.insert(names.end(), {"device alone", "device beside"});
  phases_ = Phases(std::move(names));
}

std::vector<double> OverlapTimer::values(const Times& times) const {
  const auto& typical = times.typical_phases_us;
  return {times.phases_us[kBoth] / std::max(typical[kCommunicate], typical[kCompute])};
}

void OverlapTimer::first_use(Communication& communication) const {
  communication.begin();
  communication.finish();
}

void OverlapTimer::run(std::uint64_t n, Communication& communication) {
  if (!fitted_) fit(communication);
  const std::size_t width = phases_.count();
  all_ns_.resize(n * width);
  for (std::uint64_t i = 0; i < n; ++i) measure(communication, &all_ns_[i * width]);
  reduce(n);
}

void OverlapTimer::run_round(std::uint64_t round, Communication& communication) {
  communication.begin();
  if (round % 2 == 1) computation_->run(&communication);
  communication.finish();
}

// What is communicated first may take much longer than later: so it is looked at again.
void OverlapTimer::fit(Communication& communication) {
  const auto communicate = [&] {
    communication.begin();
    communication.finish();
  };
  const Patience patience(group_, most_us_);
  const double part_us = kTrialShare * most_us_;
  const auto part = [&] { return Patience(group_, part_us); };
  double target_us = slowest_us(group_, kTrials, part(), communicate);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    computation_->fit(group_, target_us, part_us);
    if (!patience.lasts(2 * target_us)) break;  // to look at both
    target_us = slowest_us(group_, kTrials, part(), communicate);
    const double took_us = slowest_us(group_, kTrials, part(), [&] { computation_->run(nullptr); });
    if (std::max(target_us, took_us) < kAlike * std::min(target_us, took_us)) break;
  }
  fitted_ = true;
}

void OverlapTimer::measure(Communication& communication, double* ns) {
  const bool on_device = computation_->on_device();
  ns[kCommunicate] = timed_ns(group_, [&] {
    communication.begin();
    communication.finish();
  });
  ns[kCompute] = timed_ns(group_, [&] { computation_->run(nullptr); });
  if (on_device) ns[kDeviceAlone] = 1e3 * computation_->device_us();
  ns[kBoth] = timed_ns(group_, [&] {
    communication.begin();
    computation_->run(&communication);
    communication.finish();
  });
  if (on_device) ns[kDeviceBeside] = 1e3 * computation_->device_us();
}

void OverlapTimer::reduce(std::uint64_t n) {
  const std::size_t width = phases_.count();
  const std::vector<double> all = group_.gather(all_ns_);
  phases_.clear();
  for (std::size_t place = 0; place < n * width; ++place) {
    double slowest = 0;
    for (std::size_t at = place; at < all.size(); at += n * width)
      slowest = std::max(slowest, all[at]);
    phases_.add(place % width, slowest);
  }
}

Benchmark overlap_benchmark(
    const std::string& name, const BenchmarkInfo& alone, std::vector<Axis> axes,
    std::function<std::unique_ptr<Case>(const CaseContext&, std::unique_ptr<OverlapTimer>)> make) {
  axes.push_back(compute_axis());
  axes.push_back(tests_axis());
  return {.info = {.name = name,
                   .family = "overlap",
                   .summary = "time of " + name +
                              " and a computation of the same length at once, divided by the "
                              "longer of the two alone: 1 if they overlap, 2 if not",
                   .metrics = {{name, "ratio", "lower"}},
                   .ranks = alone.ranks,
                   .smallest = alone.smallest,
                   .sized = alone.sized,
                   .axes = std::move(axes),
                   .moves = {.ways = 4},
                   .bound = 1},
          .make = [make = std::move(make)](const CaseContext& context) {
            return make(context, std::make_unique<OverlapTimer>(context));
          }};
}

}  // namespace nearpeak
