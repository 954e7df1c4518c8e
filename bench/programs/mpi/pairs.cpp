// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/pairs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>

#include "benchmark/runner.hpp"
#include "programs/mpi/measure.hpp"
#include "programs/mpi/places.hpp"
#include "transport/mpi/direct.hpp"

namespace nearpeak {
namespace {

constexpr int kNone = -1;
constexpr std::size_t kMostKinds = 32;  // bytes of the buffers that a line names
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

int parse_rank(const std::string& text, const std::string& pair, int ranks) {
  int rank = kNone;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, rank);
  if (error != std::errc{} || rest != end || rank < 0 || rank >= ranks)
    throw BadInput("'" + pair + "' of --rounds is no pair of the " + std::to_string(ranks) +
                   " ranks: write like 0-3");
  return rank;
}

// The next round on every rank, or none at the end of the file, which the leader reads alone.
class Rounds {
 public:
  Rounds(const std::string& name, MpiGroup& group) : name_(name), group_(group) {
    if (group.leads()) file_.open(name);
    const bool readable = !group.leads() || file_.good();
    if (!group.everywhere(readable))
      throw BadInput("--rounds " + name + " cannot be read: give a file");
  }

  std::optional<RoundLine> next() {
    RoundLine round{"", std::vector<int>(static_cast<std::size_t>(group_.size()), kNone)};
    int there = 0;
    std::string why;
    if (std::string line; group_.leads() && std::getline(file_, line)) {
      there = 1;
      try {
        round = parse_round(line, group_.size());
      } catch (const BadInput& error) {
        why = error.what();
      }
    }
    why = group_.first_reason(why);
    if (!why.empty()) throw BadInput(why);
    if (group_.broadcast(there) == 0) return std::nullopt;
    char kinds[kMostKinds] = "";
    std::memcpy(kinds, round.kinds.data(), round.kinds.size());
    group_.broadcast(kinds, sizeof kinds);
    round.kinds = kinds;
    group_.broadcast(round.partners.data(), round.partners.size() * sizeof(int));
    return round;
  }

 private:
  const std::string name_;
  MpiGroup& group_;
  std::ifstream file_;
};

// One benchmark of one pair, from its buffers to what arrived in them.
class PairCaseRun {
 public:
  PairCaseRun(const std::string& name, std::size_t bytes, const Kinds& kinds,
              const Command& command, const DeviceChoice& devices, MpiGroup& pair)
      : pair_(pair),
        benchmark_(find_benchmark(name)),
        context_(context_of(command, devices, kinds, pair, bytes,
                            usual_axes(benchmark_, !need_device(kinds)))),
        messages_(benchmark_.messages(context_)),
        slots_(messages_, context_.memory, context_.memory, 0),
        buffers_(slots_.both()),
        transport_(pair.comm(), messages_, buffers_),
        case_(benchmark_.make_over(context_, messages_, buffers_, transport_)) {
    case_->begin_round(0, Part::kAll);
  }

  // The median, in the benchmark's unit, on both ranks.
  double measure(const SamplingPolicy& policy, const ClockQuality& clock) {
    Sampler sampler(pair_, clock);
    const Measurement measured = sampler.measure(policy, *case_);
    double value = 0;
    if (pair_.leads()) value = case_->values({median(measured.samples_us), {}, {}}).front();
    return pair_.broadcast(value);
  }
  // What arrived wrong here.
  std::optional<Mismatch> wrong() const { return case_->wrong(0, Part::kAll); }

 private:
  static Axes usual_axes(const Benchmark& benchmark, bool on_host) {
    Axes axes;
    for (const Axis& axis : axes_of(benchmark)) axes[axis.name] = axis.default_of(on_host);
    return axes;
  }

  MpiGroup& pair_;
  const Benchmark& benchmark_;
  const CaseContext context_;
  const Messages messages_;
  Slots slots_;
  Buffers buffers_;
  DirectTransport transport_;
  std::unique_ptr<Case> case_;
};

// What both ranks of a pair came to; nothing on a rank that rests.
struct Measured {
  double latency_us = kNothing;
  double bandwidth_gbs = kNothing;
  int wrong = 0;  // whether this rank received wrong data
  Mismatch where = {};
  std::size_t size_bytes = 0;
};

// One benchmark of one pair with each of the buffers of a round, one after the other.
class PairRuns {
 public:
  PairRuns(const std::string& name, std::size_t bytes, const std::vector<Kinds>& kinds,
           const Command& command, const DeviceChoice& devices, MpiGroup& pair)
      : bytes_(bytes) {
    for (const Kinds& each : kinds)
      runs_.push_back(std::make_unique<PairCaseRun>(name, bytes, each, command, devices, pair));
  }

  void measure(std::size_t index, const SamplingPolicy& policy, const ClockQuality& clock) {
    values_.push_back(runs_[index]->measure(policy, clock));
  }
  double mean_time() const {
    return std::accumulate(values_.begin(), values_.end(), 0.0) /
           static_cast<double>(values_.size());
  }
  // Of rates, as if all of their messages were sent one after the other.
  double mean_rate() const {
    double time = 0;
    for (const double rate : values_) time += 1 / rate;
    return static_cast<double>(values_.size()) / time;
  }
  // What arrived wrong here first.
  std::optional<Mismatch> wrong() const {
    for (const auto& run : runs_)
      if (const auto found = run->wrong()) return found;
    return std::nullopt;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  const std::size_t bytes_;
  std::vector<std::unique_ptr<PairCaseRun>> runs_;
  std::vector<double> values_;
};

class PairsRun {
 public:
  PairsRun(const Command& command, const DeviceChoice& devices, MpiGroup& group)
      : command_(command),
        devices_(devices),
        group_(group),
        runner_(group, command.common,
                {.program = "nearpeak-mpi", .buffers = command.pairs->kinds.front().text()}),
        policy_(usual_policy(command.common)) {}

  int run() {
    runner_.open(library_version(), gather_places(devices_, group_));
    if (group_.leads()) {
      runner_.table().heading(library_name());
      runner_.table().heading(
          "Round   pairs   latency (us) median, worst   bibw (GB/s) median, worst");
    }
    Rounds rounds(command_.pairs->rounds, group_);
    for (std::uint64_t number = 0; const auto round = rounds.next(); ++number)
      tell(number, round->partners, measured(*round));
    return status_;
  }

 private:
  std::vector<Measured> measured(const RoundLine& round) {
    const int partner = round.partners[static_cast<std::size_t>(group_.rank())];
    const auto kinds = kinds_of(round);
    Measured mine;
    std::optional<MpiGroup> pair;
    std::optional<PairRuns> latency, bandwidth;
    if (partner != kNone) {
      const Pairs& pairs = *command_.pairs;
      pair.emplace(group_, partner);
      latency.emplace("latency", pairs.small, kinds, command_, devices_, *pair);
      bandwidth.emplace("bibw", pairs.large, kinds, command_, devices_, *pair);
    }
    // All pairs begin together, with each benchmark and all buffers. At the end nothing is in the
    // way any more while data is looked at.
    group_.barrier();
    for (auto* const runs : {&latency, &bandwidth})
      for (std::size_t index = 0; index < kinds.size(); ++index) {
        if (*runs) (*runs)->measure(index, policy_, runner_.clock());
        group_.barrier();
      }
    if (!pair) return group_.gather(mine);
    mine.latency_us = latency->mean_time();
    mine.bandwidth_gbs = bandwidth->mean_rate();
    if (command_.common.verify) {
      look(*latency, mine);
      if (mine.wrong == 0) look(*bandwidth, mine);
    }
    return group_.gather(mine);
  }

  // Throws BadInput on every rank alike.
  std::vector<Kinds> kinds_of(const RoundLine& round) const {
    if (round.kinds.empty()) return command_.pairs->kinds;
    auto kinds = parse_pair_kinds(round.kinds);
    if (std::any_of(kinds.begin(), kinds.end(), need_device) &&
        std::none_of(command_.kinds.begin(), command_.kinds.end(), need_device))
      throw BadInput("--rounds has buffers " + round.kinds +
                     ", and --buffers none that need a device: give --buffers D");
    return kinds;
  }

  static void look(const PairRuns& at, Measured& mine) {
    const auto wrong = at.wrong();
    if (!wrong) return;
    mine.wrong = 1;
    mine.where = *wrong;
    mine.size_bytes = at.bytes();
  }

  void tell(std::uint64_t number, const std::vector<int>& partners,
            const std::vector<Measured>& all) {
    PairsRound round{.number = number,
                     .small_bytes = command_.pairs->small,
                     .large_bytes = command_.pairs->large};
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].wrong != 0) {
        status_ = kWrongData;
        if (group_.leads()) wrong(static_cast<int>(rank), partners[rank], all[rank]);
      }
      if (partners[rank] < static_cast<int>(rank)) continue;
      const auto other = static_cast<std::size_t>(partners[rank]);
      if (all[rank].wrong != 0 || all[other].wrong != 0) continue;  // its figures count for nothing
      round.first.push_back(static_cast<int>(rank));
      round.second.push_back(partners[rank]);
      round.latency_us.push_back(all[rank].latency_us);
      round.bandwidth_gbs.push_back(all[rank].bandwidth_gbs);
    }
    if (!group_.leads()) return;
    runner_.writer().pairs(round);
    if (round.first.empty()) return;
    char row[128];
    std::snprintf(row, sizeof row, "%-7llu %5zu   %12.4g %12.4g   %12.4g %12.4g",
                  static_cast<unsigned long long>(number), round.first.size(),
                  median(round.latency_us),
                  *std::max_element(round.latency_us.begin(), round.latency_us.end()),
                  median(round.bandwidth_gbs),
                  *std::min_element(round.bandwidth_gbs.begin(), round.bandwidth_gbs.end()));
    runner_.table().line(row);
  }

  void wrong(int rank, int partner, const Measured& mine) {
    const WrongData where{rank, mine.where};
    runner_.writer().wrong_pair(partner, mine.size_bytes, where);
    runner_.table().problem(mine.size_bytes, "WRONG DATA from rank " + std::to_string(partner) +
                                                 ": " + to_text(where, mine.size_bytes));
  }

  const Command& command_;
  const DeviceChoice& devices_;
  MpiGroup& group_;
  Runner runner_;
  const SamplingPolicy policy_;
  int status_ = kGood;
};

}  // namespace

RoundLine parse_round(const std::string& line, int ranks) {
  RoundLine round{"", std::vector<int>(static_cast<std::size_t>(ranks), kNone)};
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.find_first_of("HPDM") == 0) {
      if (word.size() >= kMostKinds) throw BadInput("'" + word + "' of --rounds is too long");
      parse_pair_kinds(word);
      round.kinds = word;
      continue;
    }
    const auto ends = split(word, '-');
    if (ends.size() != 2) throw BadInput("'" + word + "' of --rounds is no pair: write like 0-3");
    const int one = parse_rank(ends[0], word, ranks);
    const int other = parse_rank(ends[1], word, ranks);
    int& ones = round.partners[static_cast<std::size_t>(one)];
    int& others = round.partners[static_cast<std::size_t>(other)];
    if (one == other || ones != kNone || others != kNone)
      throw BadInput("'" + word + "' of --rounds: a rank has one partner in a round");
    ones = other;
    others = one;
  }
  return round;
}

int measure_pairs(const Command& command, const DeviceChoice& devices, MpiGroup& group) {
  return PairsRun(command, devices, group).run();
}

}  // namespace nearpeak
