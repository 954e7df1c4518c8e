// SPDX-License-Identifier: Apache-2.0
#include "benchmark/runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "benchmark/check_memory.hpp"

namespace nearpeak {
namespace {

constexpr double kTrialShare = 0.05;  // of the slot, for each trial of a method
constexpr std::uint64_t kTrialSamples = 2;
constexpr double kFar = 1.5;          // times the best in the first trial: no second one
constexpr double kHopeless = 2;       // times the best so far: its first trial ends at once
constexpr double kSlower = 1.15;      // than the best in its trial: not measured further
constexpr std::size_t kMeasured = 2;  // nor are more methods than these
constexpr std::size_t kCheapBytes = std::size_t{4} << 20;  // of a round: it takes no time

// A mismatch as it is told to other ranks.
struct RankMismatch {
  int wrong;
  Mismatch where;
};

Measurement per_operation(Measurement measurement, std::uint64_t operations) {
  const auto divide = [operations](std::vector<double>& series) {
    for (double& us : series) us /= static_cast<double>(operations);
  };
  divide(measurement.samples_us);
  for (auto* const all : {&measurement.phases_us, &measurement.shortest_phases_us,
                          &measurement.mean_phases_us, &measurement.ranks_us})
    for (auto& series : *all) divide(series);
  return measurement;
}

std::optional<Percentiles> percentiles_of(const Case& made, const Measurement& measurement) {
  const auto& tail = measurement.tail;
  if (!tail || tail->count() == 0) return std::nullopt;
  const auto value = [&](double us) { return made.values({us, {}, {}}).front(); };
  return Percentiles{tail->count(),
                     value(tail->quantile_us(0.5)),
                     value(tail->quantile_us(0.9)),
                     value(tail->quantile_us(0.99)),
                     value(tail->quantile_us(0.999)),
                     value(tail->longest_us())};
}

// With the messages of the rank that sends most bytes, for which the others wait; of what each rank
// moves in its memory the mean. Collective.
std::optional<Work> work_of(const Case& made, Group& group) {
  auto work = made.work();
  if (!work) return work;
  const auto counts = group.gather(work->messages.size());
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<double> own(work->messages.begin(), work->messages.end());
  own.resize(most);
  const auto all = group.gather(own);
  const auto to_themselves = group.gather(work->own_bytes);
  work->copied_bytes = group.total(work->copied_bytes) / static_cast<std::uint64_t>(group.size());
  double busiest = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * most);
    const double bytes = std::accumulate(first, first + static_cast<std::ptrdiff_t>(most), 0.0);
    if (bytes <= busiest) continue;
    busiest = bytes;
    work->messages.assign(first, first + static_cast<std::ptrdiff_t>(counts[rank]));
    work->own_bytes = to_themselves[rank];
  }
  return work;
}

}  // namespace

double enough_us(std::vector<double> trials_us) {
  std::sort(trials_us.begin(), trials_us.end());
  return std::min(kSlower * trials_us.front(),
                  trials_us[std::min(kMeasured, trials_us.size()) - 1]);
}

Runner::Runner(Group& group, const CommonOptions& common, Naming naming)
    : group_(group),
      common_(common),
      naming_(std::move(naming)),
      clock_(measure_clock()),
      sampler_(group, clock_),
      distances_(group),
      writer_(group.leads() && !common.jsonl.empty() ? RecordWriter(common.jsonl)
                                                     : RecordWriter()) {}

void Runner::count(const std::optional<RankDevice>& device) {
  // The leader alone may have a file for records, or other options.
  if (!group_.broadcast(common_.counters && !common_.jsonl.empty())) return;
  CounterScope scope;
  if (device) {
    scope.gpu = device->uuid;
    scope.pci = device->pci;
  }
  counters_.emplace(group_, scope);
}

void Runner::open(const std::optional<std::string>& library_version,
                  const std::vector<std::string>& places) {
  if (group_.leads())
    writer_.environment(naming_.program, library_version, places, clock_,
                        counters_ ? &*counters_ : nullptr);
}

void Runner::heading(const std::string& text) {
  if (!group_.leads()) return;
  table_.heading(naming_.program + " " + kVersion + " " + text + "; buffers " + naming_.buffers +
                 "; reuse " + common_.reuse +
                 (common_.touch == "none" ? "" : "; touch " + common_.touch));
  shown_metric_.clear();
  window_noted_ = false;
}

void Runner::note_window(const Benchmark& benchmark) {
  if (!group_.leads() || window_noted_) return;
  window_noted_ = true;
  std::string note;
  if (benchmark.info.moves.window) {
    note = common_.window_note();
  } else if (common_.window != CommonOptions{}.window) {
    note = "window: " + benchmark.info.name + " has none, --window changes nothing";
  }
  if (!note.empty()) table_.heading(note);
}

CaseName Runner::name_of(const Benchmark& benchmark, const Metric& metric,
                         const CaseContext& context,
                         const std::optional<std::string>& method) const {
  CaseName name{.benchmark = benchmark.info.name,
                .metric = metric,
                .over = benchmark.info.x,
                .size_bytes = context.bytes,
                .buffers = naming_.buffers,
                .axes = context.axes,
                .method = contest() ? method : std::nullopt};
  // Ceilings are measured in the default way alone, and hold for every way of calling a library.
  if (contest()) name.axes = {{kReuse, context.axis(kReuse)}, {kTouch, context.axis(kTouch)}};
  return name;
}

SamplingPolicy Runner::policy_of(const Benchmark& benchmark) const {
  SamplingPolicy policy = usual_policy(common_);
  policy.sync = benchmark.info.sync;
  policy.reduce = benchmark.info.reduce;
  policy.with_tail =
      benchmark.info.reduce == Reduce::kLeader && benchmark.info.metrics.front().unit == "us";
  if (benchmark.info.budgeted) policy.budget_us = common_.budget_ms * 1e3;
  return policy;
}

void Runner::skip(const CaseName& name, const std::string& reason) {
  if (!group_.leads()) return;
  writer_.skipped(name, reason);
  const std::string line = "skipped: " + (name.method ? *name.method + ": " : "") + reason;
  if (shown_reasons_.insert(line).second) table_.problem(name.size_bytes, line);
}

std::optional<WrongData> Runner::first_wrong(const std::optional<Mismatch>& mine) {
  const auto all = group_.gather(RankMismatch{mine ? 1 : 0, mine.value_or(Mismatch{})});
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].wrong != 0) return WrongData{static_cast<int>(rank), all[rank].where};
  return std::nullopt;
}

void Runner::wrong_data(const CaseName& name, const WrongData& wrong) {
  status_ = kWrongData;
  if (!group_.leads()) return;
  writer_.wrong_data(name, wrong);
  table_.problem(name.size_bytes, "WRONG DATA: " + (name.method ? *name.method + ", " : "") +
                                      to_text(wrong, name.size_bytes));
}

void Runner::too_slow(const CaseResult& result) {
  const Metric& metric = result.name.metric;
  char least[32];
  std::snprintf(least, sizeof least, "%.4g", result.samples.front());
  const std::string reason = metric.name + " takes at least " + least + " " + metric.unit +
                             ": an iteration does not fit into the budget of " +
                             std::to_string(std::llround(common_.budget_ms)) + " ms";
  writer_.too_slow(result.name, result.samples.front(), reason);
  table_.problem(result.name.size_bytes, std::string(kTooSlow) + ": " + reason);
}

bool Runner::right(const CaseName& name, const std::optional<Mismatch>& mine) {
  const auto wrong = first_wrong(mine);
  if (wrong) wrong_data(name, *wrong);
  return !wrong;
}

std::optional<WrongData> Runner::verify(Case& made, std::uint64_t round, Part part) {
  group_.barrier();  // what was sent last has arrived, or never will
  // Gathering keeps whoever is done from sending anew while another still looks.
  return first_wrong(made.wrong(round, part));
}

std::optional<WrongData> Runner::verify_rounds(Case& made, std::uint64_t rounds, Part before,
                                               Part last, std::uint64_t first) {
  for (std::uint64_t round = first; round < first + rounds; ++round) {
    const Part part = round + 1 < first + rounds ? before : last;
    made.begin_round(round, part);
    glance();
    group_.barrier();
    made.run_round(round);
    if (auto wrong = verify(made, round, part)) return wrong;
  }
  return std::nullopt;
}

// False where wrong data arrived. After a trial one round is looked at, of a large window its
// stamps alone; what wins is looked at whole.
bool Runner::measure_and_verify(const CaseName& name, SamplingPolicy policy, bool trial, Case& made,
                                Measurement& measurement) {
  policy.min_warmup = made.cycle();
  begin_counting(!trial && judged(name), policy);
  const bool whole = common_.verify && !trial;
  made.begin_round(0, whole ? Part::kAll : Part::kStamps);
  cache_line_ns_.clear();
  if (!trial) cache_line_ns_ = distances_.measure();
  group_.barrier();
  measurement = sampler_.measure(policy, made);
  group_.barrier();
  if (!common_.verify) {
    end_counting(made, measurement, 0);
    return true;
  }
  std::optional<WrongData> wrong;
  if (whole) wrong = verify(made, 0, Part::kAll);
  if (measurement.too_slow) {
    if (wrong) wrong_data(name, *wrong);
    return !wrong;
  }
  const bool cheap = group_.largest(made.round_bytes()) <= kCheapBytes;
  std::uint64_t rounds = group_.largest(made.fewest_rounds());
  if (cheap) rounds = std::max(rounds, kRounds);
  if (trial) rounds = 1;
  const Part last = cheap ? Part::kAll : Part::kStamps;
  if (!wrong) wrong = verify_rounds(made, rounds, Part::kStamps, last);
  if (wrong) wrong_data(name, *wrong);
  if (!wrong) end_counting(made, measurement, rounds);
  return !wrong;
}

// A reading takes milliseconds. Trials are no case, and of smaller messages the bytes of protocols
// are no small part: no rule judges them (SMALLEST in findings/counted.py).
bool Runner::judged(const CaseName& name) {
  constexpr std::size_t kSmallest = std::size_t{64} << 10;
  return name.over.unit != XAxis{}.unit || name.size_bytes >= kSmallest;
}

void Runner::begin_counting(bool counts, SamplingPolicy& policy) {
  counted_.reset();
  counts_ = counters_ && counts;
  if (!counts_) {
    read_before_ = false;
    return;
  }
  if (!read_before_) counters_->read();
  read_before_ = false;  // until the case is over
  if (const auto seconds = counters_->wraps_s()) {
    constexpr double kRound = 0.3;  // of the time in which a counter wraps
    policy.between = [this] { glance(); };
    policy.longest_round_s = kRound * *seconds;
  }
  glance();
}

void Runner::end_counting(const Case& made, const Measurement& measurement, std::uint64_t rounds) {
  if (!counts_) return;
  counted_ = CountedCase{counters_->read()};
  read_before_ = true;
  const auto operation = made.payload();
  if (!group_.everywhere(operation.has_value())) return;
  // The first use is one operation, however many an iteration has.
  const std::uint64_t operations =
      1 + (measurement.all_iterations - 1 + rounds) * made.operations();
  for (const LinkBytes& rank : group_.gather(operation.value_or(LinkBytes{})))
    counted_->payload.push_back({rank.sent * operations, rank.received * operations});
}

void Runner::glance() {
  if (counts_) counters_->glance();
}

void Runner::record(const std::vector<CaseResult>& results) {
  if (!group_.leads()) return;
  for (const CaseResult& result : results) writer_.samples(result);
  if (shown_metric_ != results.front().name.metric.name) {
    shown_metric_ = results.front().name.metric.name;
    table_.columns(results);
  }
  table_.row(results);
}

// One for each metric; on the leader. Collective.
std::vector<CaseResult> Runner::results_of(const Benchmark& benchmark, const CaseContext& context,
                                           const Case& made, const Method* method,
                                           const Measurement& of_iterations) const {
  const Measurement measurement = per_operation(of_iterations, made.operations());
  std::vector<CaseResult> results;
  const auto work = work_of(made, group_);
  if (!group_.leads()) return results;
  std::vector<double> typical;
  for (const auto& phase : measurement.phases_us) typical.push_back(median(phase));
  const auto values_of = [&](std::size_t metric) {
    std::vector<double> out;
    for (std::size_t i = 0; i < measurement.samples_us.size(); ++i) {
      Times times{measurement.samples_us[i], {}, typical};
      for (const auto& phase : measurement.phases_us) times.phases_us.push_back(phase[i]);
      out.push_back(made.values(times)[metric]);
    }
    return out;
  };
  // Of single ranks no phases are known: none where a value needs them, which comes out as no
  // number.
  Times of_rank{0, {}, {}};
  of_rank.phases_us.assign(typical.size(), std::numeric_limits<double>::quiet_NaN());
  of_rank.typical_phases_us = of_rank.phases_us;
  const auto ranks_of = [&](std::size_t metric) {
    std::vector<std::vector<double>> out;
    for (const auto& rank : measurement.ranks_us) {
      auto& values = out.emplace_back();
      for (const double us : rank) {
        of_rank.us = us;
        values.push_back(made.values(of_rank)[metric]);
        if (std::isnan(values.back())) return std::vector<std::vector<double>>{};
      }
    }
    return out;
  };
  for (std::size_t metric = 0; metric < benchmark.info.metrics.size(); ++metric) {
    CaseResult& result = results.emplace_back();
    result.name = name_of(benchmark, benchmark.info.metrics[metric], context,
                          method != nullptr ? std::optional(method->name) : std::nullopt);
    result.samples = values_of(metric);
    result.ranks = ranks_of(metric);
    if (metric == 0 && made.operations() == 1)
      result.percentiles = percentiles_of(made, measurement);
    result.measurement = measurement;
    result.phases = made.phases().names();
    result.work = work;
    result.window = made.window();
    result.operations = made.operations();
    result.offset = context.offset;
    result.verified = common_.verify;
    result.cache_line_ns = cache_line_ns_;
    if (metric == 0) result.counted = counted_;
    if (method == nullptr) continue;
    result.needs = method->needs;
    if (naming_.shows_method) result.by = method->name;
  }
  return results;
}

std::unique_ptr<Case> Runner::make_case(const Benchmark& benchmark, const CaseContext& context) {
  std::unique_ptr<Case> made;
  on_every_rank(group_, [&] { made = benchmark.make(context); });
  return made;
}

void Runner::run(const Benchmark& benchmark, const CaseContext& context, Memory* out, Memory* in) {
  note_window(benchmark);
  const CaseName name = name_of(benchmark, benchmark.info.metrics.front(), context, std::nullopt);
  if (group_.leads() && !contest()) writer_.begins(name);
  try {
    if (benchmark.over_transport())
      return run_over(benchmark, context, out != nullptr ? *out : context.memory,
                      in != nullptr ? *in : context.memory);
    const auto made = make_case(benchmark, context);
    Measurement measurement;
    if (!measure_and_verify(name, policy_of(benchmark), false, *made, measurement)) return;
    const auto results = results_of(benchmark, context, *made, nullptr, measurement);
    if (!measurement.too_slow) return record(results);
    if (group_.leads()) too_slow(results.front());
  } catch (const Unfit& error) {
    skip(name, error.what());
  }
}

std::unique_ptr<Runner::Tried> Runner::make(const Benchmark& benchmark,
                                            const CaseContext& context) {
  auto tried = std::make_unique<Tried>();
  if (!benchmark.over_transport()) {
    tried->made = make_case(benchmark, context);
    tried->budgeted = benchmark.info.budgeted;
    return tried;
  }
  const Messages messages = benchmark.messages(context);
  check_memory(context, {.all = Slots::bytes(messages)});
  on_every_rank(group_, [&] {
    tried->slots.emplace(messages, context.memory, context.memory, context.offset);
    tried->transport = context.methods(context, messages, tried->slots->both()).front().make();
  });
  tried->made = benchmark.make_over(context, messages, tried->slots->both(), *tried->transport);
  return tried;
}

std::optional<WrongData> Runner::try_out(Tried& tried, std::uint64_t rounds, std::uint64_t first) {
  if (tried.budgeted) {
    const std::int64_t begin = now_ns();
    const auto wrong = verify_rounds(*tried.made, 1, Part::kAll, Part::kAll, first);
    const double took_ms = static_cast<double>(now_ns() - begin) / 1e6;
    if (wrong || group_.broadcast(took_ms > common_.budget_ms ? 1 : 0) != 0) return wrong;
  }
  return verify_rounds(*tried.made, rounds, Part::kAll, Part::kAll, first);
}

void Runner::run_over(const Benchmark& benchmark, const CaseContext& context, Memory& out,
                      Memory& in) {
  const Messages messages = benchmark.messages(context);
  check_memory(context, {.all = Slots::bytes(messages)});
  std::optional<Slots> slots;
  on_every_rank(group_, [&] { slots.emplace(messages, out, in, context.offset); });
  {
    const auto all = context.methods(context, messages, slots->both());
    std::vector<const Method*> attainable;  // by a library
    std::vector<const Method*> others;
    std::string why_none;
    for (const Method& method : all) {
      const std::string why = group_.first_reason(method.unavailable);
      if (why.empty())
        (method.needs.empty() ? attainable : others).push_back(&method);
      else if (contest())
        skip(name_of(benchmark, benchmark.info.metrics.front(), context, method.name), why);
      else
        why_none = method.name + ": " + why;
    }
    if (!contest()) {
      // Alone in the place of a library: by any means, as what it is held against.
      attainable.insert(attainable.end(), others.begin(), others.end());
      others.clear();
      if (attainable.empty()) throw Unfit("no transport can be used: " + why_none);
    }
    // Each has its own best, as there is a ceiling of what a library can attain too.
    if (!attainable.empty()) pick_fastest_method(benchmark, context, messages, attainable);
    if (!others.empty()) pick_fastest_method(benchmark, context, messages, others);
  }
  group_.barrier();  // nobody has these slots any more
}

// What a method came to, on the leader; nothing but `good` elsewhere.
struct Runner::Trial {
  const Method* method;
  bool good;        // it was set up, and no wrong data arrived
  std::string why;  // it was not set up, on every rank
  std::vector<CaseResult> results;
  double best_us = 0;

  // It is the same method's: what was used first was used there.
  void comes_after(const Trial& before) {
    for (std::size_t i = 0; i < std::min(results.size(), before.results.size()); ++i)
      results[i].measurement.first_use_us = before.results[i].measurement.first_use_us;
  }
};

Runner::Trial Runner::attempt(const Benchmark& benchmark, const CaseContext& context,
                              const Messages& messages, const Method& method,
                              const SamplingPolicy& policy, bool trial) {
  const CaseName name = name_of(benchmark, benchmark.info.metrics.front(), context, method.name);
  Trial result{.method = &method, .good = false, .why = {}, .results = {}};
  group_.barrier();  // the others are done with the method before
  std::unique_ptr<Transport> transport;
  try {
    on_every_rank(group_, [&] { transport = method.make(); });
  } catch (const Unfit& error) {
    if (contest()) skip(name, error.what());
    result.why = error.what();
    return result;
  }
  const auto made = benchmark.make_over(context, messages, method.buffers, *transport);
  Measurement measurement;
  result.good = measure_and_verify(name, policy, trial, *made, measurement);
  if (!result.good) return result;
  result.results = results_of(benchmark, context, *made, &method, measurement);
  const auto& samples = measurement.samples_us;
  if (group_.leads()) result.best_us = *std::min_element(samples.begin(), samples.end());
  return result;
}

// Of all methods. Those that are not far behind have a second one, where there are several: what
// disturbed the first has passed by then.
std::vector<Runner::Trial> Runner::trials(const Benchmark& benchmark, const CaseContext& context,
                                          const Messages& messages,
                                          std::vector<const Method*> methods) {
  // Against the best of the case before it soon shows which are hopeless.
  std::stable_partition(methods.begin(), methods.end(),
                        [this](const Method* method) { return method->name == fastest_; });
  SamplingPolicy policy = policy_of(benchmark);
  policy.slot_s *= kTrialShare;
  policy.limit_s *= kTrialShare;
  policy.least_samples = std::min(policy.least_samples, kTrialSamples);
  std::vector<Trial> all;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Method* method : methods) {
    policy.hopeless_us = kHopeless * best_us;
    all.push_back(attempt(benchmark, context, messages, *method, policy, true));
    if (!all.back().good) continue;
    if (group_.broadcast(all.back().best_us < best_us ? 1 : 0) != 0) fastest_ = method->name;
    best_us = std::min(best_us, all.back().best_us);
  }
  policy.hopeless_us.reset();
  std::vector<Trial*> near;
  for (Trial& trial : all)
    if (trial.good && group_.broadcast(trial.best_us > kFar * best_us ? 1 : 0) == 0)
      near.push_back(&trial);
  if (near.size() == 1) return all;
  for (Trial* const first : near) {
    Trial& trial = *first;
    Trial second = attempt(benchmark, context, messages, *trial.method, policy, true);
    second.comes_after(trial);
    if (!second.good || second.best_us < trial.best_us) trial = std::move(second);
  }
  return all;
}

void Runner::pick_fastest_method(const Benchmark& benchmark, const CaseContext& context,
                                 const Messages& messages,
                                 const std::vector<const Method*>& methods) {
  std::vector<Trial> trials;
  if (methods.size() > 1)
    trials = this->trials(benchmark, context, messages, methods);
  else
    trials.push_back({.method = methods.front(), .good = true, .why = {}, .results = {}});
  std::string why;
  std::vector<double> best_us;
  for (const Trial& trial : trials) {
    if (trial.good) best_us.push_back(trial.best_us);
    if (!trial.why.empty()) why = trial.why;
  }
  std::erase_if(trials, [](const Trial& trial) { return !trial.good; });
  const double enough = trials.empty() ? 0 : enough_us(std::move(best_us));
  std::vector<Trial> measured;
  for (Trial& trial : trials) {
    if (group_.broadcast(trial.best_us > enough ? 1 : 0) != 0) {
      for (CaseResult& result : trial.results) {
        result.measurement.limited = kTrialOnly;
        result.trial = true;
      }
      if (contest()) record(trial.results);
      continue;
    }
    Trial whole = attempt(benchmark, context, messages, *trial.method, policy_of(benchmark), false);
    if (!whole.why.empty()) why = whole.why;
    if (!whole.good) continue;
    whole.comes_after(trial);
    if (contest())
      record(whole.results);
    else
      measured.push_back(std::move(whole));
  }
  if (measured.empty() && !contest() && !why.empty()) throw Unfit(why);
  if (measured.empty() || !group_.leads()) return;
  const auto best = std::min_element(measured.begin(), measured.end(),
                                     [](const Trial& trial, const Trial& other) {
                                       return median(trial.results.front().measurement.samples_us) <
                                              median(other.results.front().measurement.samples_us);
                                     });
  record(best->results);
}

void Runner::measure(const CaseName& name, std::uint64_t window, Sampled& sampled,
                     const std::function<double(double us)>& value) {
  group_.barrier();  // the others are ready
  read_before_ = false;
  CaseResult result;
  result.measurement = sampler_.measure(usual_policy(common_), sampled);
  group_.barrier();
  result.name = name;
  result.window = window;
  for (const double us : result.measurement.samples_us) result.samples.push_back(value(us));
  record({result});
}

}  // namespace nearpeak
