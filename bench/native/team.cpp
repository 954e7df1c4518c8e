// SPDX-License-Identifier: Apache-2.0
#include "native/team.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace nearpeak {
namespace {

constexpr double kPilotShare = 0.1;  // of the slot, for the first trial of each method
constexpr std::uint64_t kPilotSamples = 2;
constexpr double kSlower = 1.15;      // than the best in its trial: not measured further
constexpr std::size_t kMeasured = 2;  // nor are more methods than these

// "byte expected got", or nothing.
std::string to_text(const std::optional<Mismatch>& wrong) {
  if (!wrong) return "";
  return std::to_string(wrong->byte) + " " + std::to_string(wrong->expected) + " " +
         std::to_string(wrong->got);
}

std::optional<Mismatch> from_text(const std::string& text) {
  Mismatch wrong{};
  if (std::sscanf(text.c_str(), "%zu %u %u", &wrong.byte, &wrong.expected, &wrong.got) != 3)
    return std::nullopt;
  return wrong;
}

}  // namespace

double Exchange::value(double us) const {
  const double payload = static_cast<double>(bytes) * static_cast<double>(window);
  switch (pattern) {
    case Pattern::kPingPong:
      return us / 2;
    case Pattern::kAlone:
      return us;
    case Pattern::kOneWay:
      return payload / us / 1e3;
    default:
      return 2 * payload / us / 1e3;
  }
}

const std::vector<Metric>& pair_metrics() {
  static const std::vector<Metric> metrics{
      {"latency", "us", "lower"}, {"bw", "GB/s", "higher"}, {"bibw", "GB/s", "higher"}};
  return metrics;
}

Exchange make_exchange(const Metric& metric, std::size_t bytes, const CommonOptions& common,
                       int rank, std::uint64_t cache_bytes) {
  Exchange exchange{metric, Pattern::kPingPong, bytes, 1, 1, rank};
  if (metric.name != "latency") {
    exchange.pattern = metric.name == "bw" ? Pattern::kOneWay : Pattern::kBothWays;
    exchange.window = common.window_at(bytes);
  }
  if (common.reuse == "rotating")
    exchange.windows = rotating_windows(bytes, exchange.window, cache_bytes);
  return exchange;
}

std::size_t most_slot_bytes(const std::vector<Metric>& metrics,
                            const std::vector<std::size_t>& sizes, const CommonOptions& common,
                            std::uint64_t cache_bytes) {
  std::size_t most = 0;
  for (const Metric& metric : metrics)
    for (const std::size_t bytes : sizes)
      most = std::max(most, SlotBuffer::stride(bytes) *
                                make_exchange(metric, bytes, common, 0, cache_bytes).slots());
  return most;
}

double enough_us(std::vector<double> trials_us) {
  std::sort(trials_us.begin(), trials_us.end());
  return std::min(kSlower * trials_us.front(),
                  trials_us[std::min(kMeasured, trials_us.size()) - 1]);
}

struct Contest::Trial {
  const Candidate* candidate;
  std::uint64_t window;
  double first_use_us = 0;
  Measurement measurement{};
  double best_us = 0;  // on the leader
};

Contest::Contest(Team& team, const std::string& benchmark, const CommonOptions& common, bool probe,
                 const std::string& buffers)
    : team_(team),
      benchmark_(benchmark),
      buffers_(buffers),
      common_(common),
      probe_(probe),
      clock_(measure_clock()),
      sampler_(team, clock_),
      writer_(team.leads() && !common.jsonl.empty() ? RecordWriter(common.jsonl) : RecordWriter()) {
}

void Contest::open(const std::optional<RankDevice>& device) {
  RankPlace place = this_place(team_.rank());
  place.device = device;
  const std::string mine = to_json(place);
  const std::string other = team_.tell_leader(mine);
  if (team_.leads()) {
    writer_.environment("nearpeak-native", std::nullopt, {mine, other}, clock_);
    table_.heading(std::string("nearpeak-native ") + kVersion + " " + benchmark_ + "; buffers " +
                   buffers_ + "; reuse " + common_.reuse);
    if (probe_) run_probe(writer_, table_, clock_);
  }
  team_.agree(0);
}

CaseName Contest::name(const Exchange& exchange, const std::string& method) const {
  return {benchmark_, exchange.metric.name,       exchange.bytes,
          buffers_,   {{"reuse", common_.reuse}}, method};
}

void Contest::skip(const Exchange& exchange, const std::string& method, const std::string& reason) {
  if (!team_.leads()) return;
  writer_.skipped(name(exchange, method), reason);
  const std::string line = "skipped: " + method + ": " + reason;
  if (shown_reasons_.insert(line).second) table_.problem(exchange.bytes, line);
}

bool Contest::verified(const Exchange& exchange, SlotBuffer& in, Transfer& transfer, Trial& trial) {
  if (exchange.receives()) in.fill_inverse(exchange.seed(exchange.peer()));
  team_.agree(0);
  const std::int64_t begin = now_ns();
  transfer.iterate(1);
  trial.first_use_us = static_cast<double>(now_ns() - begin) / 1e3;
  transfer.iterate(exchange.windows - 1);
  std::optional<Mismatch> wrong;
  if (exchange.receives()) wrong = in.find_mismatch(exchange.seed(exchange.peer()));

  return right(exchange, trial.candidate->method, wrong);
}

bool Contest::right(const Exchange& exchange, const std::string& method,
                    const std::optional<Mismatch>& wrong) {
  const auto other = from_text(team_.tell_leader(to_text(wrong)));
  if (team_.agree(wrong || other ? 1 : 0) == 0) return true;
  if (team_.leads()) {
    const WrongData data = wrong ? WrongData{0, *wrong} : WrongData{1, *other};
    writer_.wrong_data(name(exchange, method), data);
    table_.problem(exchange.bytes, "WRONG DATA: " + method + ", rank " + std::to_string(data.rank) +
                                       ", byte " + std::to_string(data.where.byte));
  }
  status_ = kWrongData;
  return false;
}

void Contest::measure(const Exchange& exchange, const std::string& method, Transfer& transfer) {
  team_.agree(0);  // the other is ready
  const Measurement measurement =
      sampler_.measure(common_.policy(), [&](std::uint64_t n) { transfer.iterate(n); });
  team_.agree(0);
  if (team_.leads()) record(exchange, method, measurement);
}

void Contest::record(const Exchange& exchange, const std::string& method,
                     const Measurement& measurement) {
  CaseResult result;
  result.name = name(exchange, method);
  result.unit = exchange.metric.unit;
  result.better = exchange.metric.better;
  result.measurement = measurement;
  result.window = exchange.window;
  for (const double us : measurement.samples_us) result.samples.push_back(exchange.value(us));
  if (shown_metric_ != exchange.metric.name) {
    shown_metric_ = exchange.metric.name;
    table_.columns(exchange.metric.name, exchange.metric.unit);
  }
  writer_.samples(result);
  table_.row(result);
}

void Contest::run(const Exchange& exchange, SlotBuffer& in,
                  const std::vector<Candidate>& candidates) {
  SamplingPolicy policy = common_.policy();
  policy.min_warmup = exchange.windows;
  SamplingPolicy pilot = policy;
  pilot.slot_s *= kPilotShare;
  pilot.limit_s *= kPilotShare;
  pilot.min_samples = std::min(pilot.min_samples, kPilotSamples);

  std::vector<Trial> trials;
  for (const Candidate& candidate : candidates) {
    team_.agree(0);  // the other is done with the method before
    const auto transfer = candidate.make();
    team_.agree(0);  // the other is ready
    Trial trial{&candidate, exchange.window};
    if (common_.verify && !verified(exchange, in, *transfer, trial)) continue;
    trial.measurement = sampler_.measure(pilot, [&](std::uint64_t n) { transfer->iterate(n); });
    const auto& samples = trial.measurement.samples_us;
    if (team_.leads()) trial.best_us = *std::min_element(samples.begin(), samples.end());
    trials.push_back(trial);
  }
  if (trials.empty()) return;

  std::vector<double> best_us;
  for (const Trial& trial : trials) best_us.push_back(trial.best_us);
  const double enough = enough_us(std::move(best_us));
  for (Trial& trial : trials) {
    if (team_.agree(trial.best_us > enough ? 1 : 0) != 0) {
      trial.measurement.limited = kTrialOnly;
    } else {
      const auto transfer = trial.candidate->make();
      team_.agree(0);
      trial.measurement = sampler_.measure(policy, [&](std::uint64_t n) { transfer->iterate(n); });
      team_.agree(0);
    }
    if (common_.verify) trial.measurement.first_use_us = trial.first_use_us;
    if (team_.leads()) record(exchange, trial.candidate->method, trial.measurement);
  }
}

}  // namespace nearpeak
