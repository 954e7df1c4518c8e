// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/probe.hpp"

#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>

#include "benchmark/calls.hpp"
#include "benchmark/runner.hpp"
#include "collective/case.hpp"
#include "mpi/errors.hpp"
#include "mpi/methods.hpp"
#include "programs/mpi/measure.hpp"
#include "programs/mpi/places.hpp"
#include "programs/mpi/probe_operations.hpp"

namespace nearpeak {
namespace {

const std::vector<std::pair<std::string, std::string>>& checks() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {kDataCheck, "the data of messages of each size"},
      {kChurnCheck, "that of 64 allocations of 1M in turn, of which some are freed"},
      {kLeakCheck, "whether memory grows where such buffers come and go"},
      {kGrowCheck, "that of buffers freed and allocated anew, twice from 8 bytes to 4M"},
      {kInPlaceCheck, "that of collective operations with MPI_IN_PLACE, of each size"}};
  return all;
}

// What the kernel has given this process of the host's memory, but for what has been freed: a leak
// would be taken from that for a long time.
double resident_bytes() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    double kilobytes = 0;
    if (std::sscanf(line.c_str(), "Rss: %lf kB", &kilobytes) == 1) return 1024 * kilobytes;
  }
  return 0;
}

// What is tried under a name: a benchmark between two ranks in each way to call the library, one of
// more ranks in the usual way, or an operation.
struct Subject {
  Benchmark benchmark;
  std::vector<Axes> axes;
};

Subject subject_of(const Benchmark& benchmark, bool host) {
  Axes axes;
  std::vector<std::string> calls{""};
  for (const Axis& axis : axes_of(benchmark)) {
    axes[axis.name] = axis.default_of(host);
    // Of a collective operation the usual way alone: others are other algorithms, that fail alone.
    // So do persistent requests.
    if (axis.name == kCalls && benchmark.over_transport()) calls = axis.values;
  }
  std::erase(calls, kPersistent);
  Subject out{benchmark, {}};
  for (const std::string& way : calls) {
    if (!way.empty()) axes[kCalls] = way;
    out.axes.push_back(axes);
  }
  return out;
}

// `name` is of those that parse_operations() lets through.
Subject find(const std::string& name, bool host) {
  if (const Benchmark* const benchmark = benchmark_named(name)) return subject_of(*benchmark, host);
  const auto& all = probe_operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ProbeOperation& known) {
    return known.benchmark.info.name == name;
  });
  return {found->benchmark, {{}}};
}

std::vector<std::string> known_operations() {
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks())
    if (benchmark.info.over_bytes()) names.push_back(benchmark.info.name);
  for (const ProbeOperation& operation : probe_operations())
    names.push_back(operation.benchmark.info.name);
  return names;
}

std::string text_of(const ProbeTrial& trial) {
  std::string text = trial.kinds.text() + "  " + trial.operation;
  if (trial.allocator != kPlain) text += "  " + trial.allocator;
  if (trial.offset != 0) text += "  offset " + std::to_string(trial.offset);
  if (trial.check != kDataCheck) text += "  " + trial.check;
  return text;
}

// One trial on this rank.
class TrialRun {
 public:
  TrialRun(Runner& runner, const Command& command, const ProbeTrial& trial,
           const DeviceChoice& devices, MpiGroup& group)
      : runner_(runner),
        trial_(trial),
        devices_(devices),
        group_(group),
        subject_(find(trial.operation, !need_device(trial.kinds))) {
    command_.common = command.common;
    command_.offset = trial.offset;
  }

  // How it ended. Collective, with an error that this rank's library returns as its end.
  ProbeOutcome run() {
    const RankRule& rule = subject_.benchmark.info.ranks;
    if (!rule.fits(group_.size()))
      return {.status = kNotTried,
              .message = trial_.operation + " runs on " + rule.text() + ", not on " +
                         std::to_string(group_.size())};
    if (trial_.check == kInPlaceCheck && subject_.axes.front().count(kInPlace) == 0)
      return {.status = kNotTried, .message = trial_.operation + " takes no MPI_IN_PLACE"};
    try {
      on_every_rank(group_, [&] {
        devices_.memory(trial_.kinds.of(group_.rank(), group_.size()), trial_.allocator);
      });
    } catch (const Unfit& error) {
      return {.status = kNotTried, .message = error.what()};
    }
    ProbeOutcome good{.status = kOk};
    for (const Axes& axes : subject_.axes) {
      ProbeOutcome outcome = looked_at(axes);
      if (outcome.status != kOk) return outcome;
      if (good.message.empty()) good.message = outcome.message;
    }
    return good;
  }

  // Of whichever rank: the leader writes alone, but for its end.
  void tell(RecordWriter& writer, const ProbeOutcome& outcome) const {
    writer.probe({.buffers = trial_.kinds.text(),
                  .allocator = trial_.allocator,
                  .operation = trial_.operation,
                  .offset = trial_.offset,
                  .check = trial_.check},
                 outcome);
  }
  std::optional<std::size_t> size() const { return size_; }

 private:
  ProbeOutcome looked_at(Axes axes) {
    const std::size_t bytes = subject_.benchmark.info.sized ? kBufferBytes : 0;
    if (trial_.check == kChurnCheck) return at_size(bytes, axes, &TrialRun::churn);
    if (trial_.check == kLeakCheck) return at_size(bytes, axes, &TrialRun::leak);
    if (trial_.check == kGrowCheck) return grow(axes);
    if (trial_.check == kInPlaceCheck) axes[kInPlace] = "yes";
    return data(axes);
  }

  ProbeOutcome data(const Axes& axes) {
    ProbeOutcome last{.status = kNotTried};
    bool good = false;
    std::vector<std::size_t> sizes = trial_.sizes;
    if (!subject_.benchmark.info.sized) sizes = {0};
    std::erase_if(sizes, [&](std::size_t size) { return !subject_.benchmark.info.has_size(size); });
    if (sizes.empty()) last.message = "of no size that was asked for";
    for (const std::size_t bytes : sizes) {
      ProbeOutcome outcome = at_size(bytes, axes, &TrialRun::once);
      if (outcome.status != kOk && outcome.status != kNotTried) return outcome;
      good = good || outcome.status == kOk;
      if (outcome.status == kNotTried) {
        outcome.message = "not with " + bytes_text(bytes) + " bytes: " + outcome.message;
        if (last.message.empty()) last = outcome;
      }
    }
    if (good) last.status = kOk;
    return last;
  }

  // What is begun is written before, so that whoever finds that line as the last knows what
  // crashed.
  ProbeOutcome at_size(std::size_t bytes, const Axes& axes, ProbeOutcome (TrialRun::*action)()) {
    size_ = bytes;
    axes_ = axes;
    begin();
    group_.barrier();
    try {
      return (this->*action)();
    } catch (const Unfit& error) {
      return {.status = kNotTried, .message = error.what(), .size_bytes = bytes};
    }
  }

  // Also where it takes long, so that it is not taken for hanging.
  void begin() const {
    if (group_.leads()) tell(runner_.writer(), {.status = "begun", .size_bytes = size_});
  }

  std::unique_ptr<Runner::Tried> make() {
    if (++made_ % kToldEvery == 0) begin();
    CaseContext context =
        context_of(command_, devices_, trial_.kinds, group_, *size_, axes_, trial_.allocator);
    context.timed = false;
    return runner_.make(subject_.benchmark, context);
  }

  ProbeOutcome judged(const std::optional<WrongData>& wrong, const std::string& when = "") const {
    if (!wrong) return {.status = kOk};
    return {.status = kWrongData,
            .message = to_text(*wrong, *size_) + when,
            .size_bytes = size_,
            .wrong = wrong};
  }

  ProbeOutcome once() {
    const auto tried = make();
    return judged(runner_.try_out(*tried));
  }

  // The first half is kept, so that every address is new; then one goes for each that comes. Each
  // turn has data of its own: what a library has kept of an address is not right by chance.
  ProbeOutcome churn() {
    command_.common.window = 2;
    std::deque<std::unique_ptr<Runner::Tried>> kept;
    for (int turn = 0; turn < kTurns; ++turn) {
      if (turn >= kTurns / 2) kept.pop_front();
      auto tried = make();
      const auto round = static_cast<std::uint64_t>(turn) + 1;
      if (const auto wrong = runner_.try_out(*tried, 1, round))
        return judged(
            wrong, ", in allocation " + std::to_string(turn + 1) + " of " + std::to_string(kTurns));
      if (turn < kTurns / 2 || turn % 2 == 0) kept.push_back(std::move(tried));
    }
    return {.status = kOk};
  }

  // Each is freed before the next one is allocated, whose address may be the same.
  ProbeOutcome grow(const Axes& axes) {
    command_.common.window = 2;
    ProbeOutcome last{.status = kNotTried,
                      .message = trial_.operation + " has no buffers that grow"};
    if (!subject_.benchmark.info.sized) return last;
    for (pass_ = 1; pass_ <= kPasses; ++pass_)
      for (std::size_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 2) {
        if (!subject_.benchmark.info.has_size(bytes)) continue;
        last = at_size(bytes, axes, &TrialRun::grown);
        if (last.status != kOk) return last;
      }
    return last;
  }

  // With the data of a round that no size before had.
  ProbeOutcome grown() {
    const auto tried = make();
    return judged(runner_.try_out(*tried, 1, pass_),
                  ", in buffers allocated anew" + std::string(pass_ > 1 ? ", once more" : ""));
  }

  ProbeOutcome leak() {
    command_.common.window = 1;
    ProbeOutcome outcome = repeat(kWarmUp);
    Growth growth;
    // Caches may fill for a while: what grows must go on to grow, for twice as long and as fast.
    if (outcome.status == kOk) outcome = measure_growth(kInterval, growth);
    if (outcome.status != kOk || !growth.any()) return outcome;
    const Growth before = growth;
    outcome = measure_growth(2 * kInterval, growth);
    growth = {went_on(before.host, growth.host), went_on(before.device, growth.device)};
    if (outcome.status != kOk || !growth.any()) return outcome;
    return {.status = "leaks",
            .message = growth.text(),
            .size_bytes = size_,
            .leaked_host_bytes = growth.host,
            .leaked_device_bytes = growth.device};
  }

  // Bytes each time, of the rank with most.
  struct Growth {
    double host = 0;
    double device = 0;
    bool any() const { return host > 0 || device > 0; }
    std::string text() const {
      const auto told = [](double bytes, const char* what) {
        return bytes > 0 ? std::to_string(std::llround(bytes)) + " bytes of " + what : "";
      };
      const std::string of_host = told(host, "host memory");
      const std::string of_device = told(device, "device memory");
      return of_host + (of_host.empty() || of_device.empty() ? "" : " and ") + of_device +
             " more each time that buffers are allocated, used and freed";
    }
  };

  ProbeOutcome repeat(int times) {
    for (int i = 0; i < times; ++i) {
      const auto tried = make();
      if (const auto wrong = runner_.try_out(*tried, 1)) return judged(wrong);
    }
    return {.status = kOk};
  }

  ProbeOutcome measure_growth(int times, Growth& growth) {
    constexpr int kIntervals = 4;
    std::vector<double> host{resident_bytes()};
    std::vector<double> device{device_bytes()};
    for (int interval = 0; interval < kIntervals; ++interval) {
      if (const ProbeOutcome outcome = repeat(times); outcome.status != kOk) return outcome;
      host.push_back(resident_bytes());
      device.push_back(device_bytes());
    }
    const auto most = [&](const std::vector<double>& used) {
      const double largest = group_.largest(steady_growth(used) / (kIntervals * times));
      return largest >= kLeastLeak ? largest : 0;
    };
    growth = {most(host), most(device)};
    return {.status = kOk};
  }

  static double went_on(double before, double now) { return kAlike * now < before ? 0 : now; }

  // In all, where it grew in most intervals and shrank in none.
  static double steady_growth(const std::vector<double>& used) {
    std::size_t grew = 0;
    for (std::size_t i = 1; i < used.size(); ++i) {
      if (used[i] < used[i - 1]) return 0;
      if (used[i] > used[i - 1]) ++grew;
    }
    return 2 * grew > used.size() - 1 ? used.back() - used.front() : 0;
  }

  double device_bytes() const {
    Device* const device = devices_.device();
    return device == nullptr ? 0 : static_cast<double>(device->used_bytes());
  }

  static constexpr const char* kOk = "ok";
  static constexpr const char* kWrongData = "wrong data";
  static constexpr const char* kNotTried = "not tried";
  // Of churn and leak: beyond every library's threshold for handles of other processes' memory.
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr int kTurns = 64;
  // Of buffers that grow.
  static constexpr std::size_t kLeastBytes = 8;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  static constexpr std::uint64_t kPasses = 2;
  static constexpr int kToldEvery = 8;  // of those that are made
  static constexpr int kWarmUp = 32;
  static constexpr int kInterval = 16;
  // Bytes each time: what is less are pages that are touched by chance.
  static constexpr double kLeastLeak = 256;
  static constexpr double kAlike = 2;  // what grows with the number of times does so evenly

  Runner& runner_;
  Command command_;  // of this trial alone
  const ProbeTrial& trial_;
  const DeviceChoice& devices_;
  MpiGroup& group_;
  const Subject subject_;
  std::optional<std::size_t> size_;
  Axes axes_;
  int made_ = 0;
  std::uint64_t pass_ = 0;  // from the least to the most bytes
};

}  // namespace

std::vector<std::string> parse_operations(const std::string& text) {
  const auto known = known_operations();
  if (text.empty()) return known;
  const auto names = split(text);
  check_names(names, known, "operation");
  return names;
}

std::vector<std::string> parse_checks(const std::string& text) {
  const auto names = split(text);
  std::vector<std::string> known;
  for (const auto& [name, what] : checks()) known.push_back(name);
  check_names(names, known, "check");
  return names;
}

std::string probe_checks_text() {
  std::string text = "what is looked at";
  for (const auto& [name, what] : checks())
    text += (name == kDataCheck ? ": " : "; ") + name + ", " + what;
  return text;
}

int probe(const Command& command, const DeviceChoice& devices, MpiGroup& group) {
  Runner runner(group, command.common, {.program = "nearpeak-mpi", .buffers = ""});
  runner.open(library_version(), gather_places(devices, group));
  const TrialRun* running = nullptr;
  on_error(group.comm(), [&](const std::string& words) {
    if (running == nullptr || command.common.jsonl.empty()) return;
    RecordWriter own(command.common.jsonl);  // not the leader's, perhaps
    running->tell(own, {.status = "refused", .message = words, .size_bytes = running->size()});
  });
  int status = kGood;
  for (const ProbeTrial& trial : command.trials) {
    TrialRun attempt(runner, command, trial, devices, group);
    running = &attempt;
    const ProbeOutcome outcome = attempt.run();
    running = nullptr;
    if (group.leads()) attempt.tell(runner.writer(), outcome);
    if (group.leads())
      runner.table().line(text_of(trial) + "  " + outcome.status +
                          (outcome.message.empty() ? "" : ": " + outcome.message));
    if (outcome.status == "wrong data") status = kWrongData;
    if (outcome.status != "ok" && status == kGood) status = kFailed;
  }
  return status;
}

}  // namespace nearpeak
