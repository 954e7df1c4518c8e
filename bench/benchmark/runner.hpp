// SPDX-License-Identifier: Apache-2.0
// Measures cases over any group: warms up, samples, verifies what was timed, writes the records.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "group/cpu_distances.hpp"

namespace nearpeak {

// What a run's records are called.
struct Naming {
  std::string program;   // "nearpeak-mpi", "nearpeak-native"
  bool contest = false;  // of methods, whose names the records have; else one of its own choice
  std::string buffers;   // the kinds of the ranks', as given
  bool shows_method = false;  // in the table, though records of no contest do not name it
};

class Runner {
 public:
  // `places`: of every rank, as from to_json(RankPlace). Collective, as everything here.
  Runner(Group& group, const CommonOptions& common, Naming naming);

  // Counts the bytes on the links of this rank's device and of the hosts in the time of each case.
  // Before open(). Nothing where the leader's options say so, or where it records nothing.
  void count(const std::optional<RankDevice>& device = std::nullopt);
  void open(const std::optional<std::string>& library_version,
            const std::vector<std::string>& places);
  // A line above the rows that follow.
  void heading(const std::string& text);

  // One size of a benchmark: over the library's own operation, or over one of several transports.
  // Transports are all tried shortly; the best are measured, the others are left at that, which
  // their records say. Where the naming has no contest, the best alone is recorded. Where a rank
  // cannot have the case it is skipped.
  // `out`, `in`: where the slots of transports are, if not in the context's memory.
  void run(const Benchmark& benchmark, const CaseContext& context, Memory* out = nullptr,
           Memory* in = nullptr);
  // A case that is not measured, with its buffers. Collective, as its end may be. Throws Unfit.
  struct Tried {
    std::optional<Slots> slots;
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Case> made;
    bool budgeted = false;
  };
  std::unique_ptr<Tried> make(const Benchmark& benchmark, const CaseContext& context);
  // So many iterations of it, each looked at whole, or one where that exceeds its budget: what went
  // wrong, or nothing. The data of each is that of its round, from `first` on.
  std::optional<WrongData> try_out(Tried& tried, std::uint64_t rounds = kRounds,
                                   std::uint64_t first = 1);
  // What no benchmark measures.
  void measure(const CaseName& name, std::uint64_t window, Sampled& sampled,
               const std::function<double(double us)>& value);
  // Of one case: a result for each metric.
  void record(const std::vector<CaseResult>& results);
  // False where wrong data arrived anywhere; then that is a record.
  bool right(const CaseName& name, const std::optional<Mismatch>& wrong);
  // A record each time, and a line on stdout for a reason that was not told yet.
  void skip(const CaseName& name, const std::string& reason);

  CaseName name_of(const Benchmark& benchmark, const Metric& metric, const CaseContext& context,
                   const std::optional<std::string>& method) const;
  Group& group() { return group_; }
  RecordWriter& writer() { return writer_; }
  const Table& table() const { return table_; }
  bool contest() const { return naming_.contest; }
  const ClockQuality& clock() const { return clock_; }
  int status() const { return status_; }

 private:
  struct Trial;
  // A line below the heading where large messages have a smaller window.
  void note_window(const Benchmark& benchmark);
  void run_over(const Benchmark& benchmark, const CaseContext& context, Memory& out, Memory& in);
  std::unique_ptr<Case> make_case(const Benchmark& benchmark, const CaseContext& context);
  bool measure_and_verify(const CaseName& name, SamplingPolicy policy, bool trial, Case& made,
                          Measurement& measurement);
  // Whether a rule may judge the bytes that links count while this case is measured.
  static bool judged(const CaseName& name);
  // The time from one counted case to the next counts for the latter, as what it makes ready
  // belongs to it.
  void begin_counting(bool counts, SamplingPolicy& policy);
  // `rounds`: of verification, after what was measured.
  void end_counting(const Case& made, const Measurement& measurement, std::uint64_t rounds);
  void glance();
  // What is looked at in the last round, and in those before it.
  std::optional<WrongData> verify_rounds(Case& made, std::uint64_t rounds, Part before, Part last,
                                         std::uint64_t first = 1);
  std::optional<WrongData> first_wrong(const std::optional<Mismatch>& mine);
  std::optional<WrongData> verify(Case& made, std::uint64_t round, Part part);
  void wrong_data(const CaseName& name, const WrongData& wrong);
  // Of a case that was given up: its one sample is the least that it takes.
  void too_slow(const CaseResult& result);
  void pick_fastest_method(const Benchmark& benchmark, const CaseContext& context,
                           const Messages& messages, const std::vector<const Method*>& methods);
  std::vector<Trial> trials(const Benchmark& benchmark, const CaseContext& context,
                            const Messages& messages, std::vector<const Method*> methods);
  Trial attempt(const Benchmark& benchmark, const CaseContext& context, const Messages& messages,
                const Method& method, const SamplingPolicy& policy, bool trial);
  std::vector<CaseResult> results_of(const Benchmark& benchmark, const CaseContext& context,
                                     const Case& made, const Method* method,
                                     const Measurement& measurement) const;
  SamplingPolicy policy_of(const Benchmark& benchmark) const;

  Group& group_;
  const CommonOptions& common_;
  Naming naming_;
  ClockQuality clock_;
  Sampler sampler_;
  CpuDistances distances_;
  std::vector<std::optional<double>> cache_line_ns_;  // right before what was measured last
  RecordWriter writer_;
  std::optional<Counters> counters_;
  std::optional<CountedCase> counted_;  // of what was measured last
  bool counts_ = false;                 // what is measured now
  bool read_before_ = false;            // the counters, since what was measured before
  Table table_;
  std::string shown_metric_;
  std::string fastest_;  // method in the first trials of the last case
  std::set<std::string> shown_reasons_;
  bool window_noted_ = false;  // below the present heading
  int status_ = kGood;
};

// What a trial may take for its method to be measured, from the time of every trial (at least one).
double enough_us(std::vector<double> trials_us);

// How a method's record says that it was slower in its trial; results/ceilings.py knows how it
// begins.
inline constexpr const char* kTrialOnly = "a short trial: slower than others";

}  // namespace nearpeak
