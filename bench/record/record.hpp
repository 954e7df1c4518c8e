// SPDX-License-Identifier: Apache-2.0
// What the measuring programs say: JSON Lines for programs (docs/reference/reading-records.md), a
// table for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/counters.hpp"
#include "payload/pattern.hpp"
#include "sampling/sampler.hpp"

namespace nearpeak {

using Axes = std::map<std::string, std::string>;  // axis name -> value

// The accelerator that a participant took, as its driver names it.
struct RankDevice {
  std::string uuid;
  std::string name;
  std::string pci;
};

struct DeviceInfo;
RankDevice rank_device(const DeviceInfo& info);

// What a participant is bound to; host is its own word for itself.
struct RankPlace {
  int rank = 0;
  std::string host;
  std::vector<int> cpus;
  std::vector<int> numa_nodes;
  std::optional<RankDevice> device;
};

RankPlace this_place(int rank);
std::string to_json(const RankPlace& place);

// One figure that a benchmark gives.
struct Metric {
  std::string name;    // ceilings of the same name are what it is held against
  std::string unit;    // "us", "GB/s", "M/s", "GLUP/s", "ratio"
  std::string better;  // "lower" or "higher"
};

// What a benchmark is measured over.
struct XAxis {
  std::string name = "size";
  std::string unit = "B";
  std::vector<std::size_t> usual = {};  // of a problem: those that studies measure
};

// What a rank must do at least in an iteration of an application.
struct Work {
  std::uint64_t copied_bytes = 0;          // within its memory: read and written once
  std::vector<std::size_t> messages = {};  // the bytes of each that it sends to another rank
  std::uint64_t own_bytes = 0;             // of those that it sends to itself
  // Of a message, in host memory, that goes before each of them and says what comes; 0: none does.
  std::uint64_t announced_bytes = 0;

  void sends(std::size_t bytes, bool to_itself) {
    if (to_itself)
      own_bytes += bytes;
    else
      messages.push_back(bytes);
  }
};

// The case that a number belongs to.
struct CaseName {
  std::string benchmark;
  Metric metric;
  XAxis over = {};
  std::size_t size_bytes = 0;  // x
  std::string buffers = "H,H";
  Axes axes;
  std::optional<std::string> method;  // of a ceiling
};

// What was counted while a case was measured and verified, and what it moved in that time.
struct CountedCase {
  CountedLinks counted;
  // Payload of every rank, if the case knows it; else empty.
  std::vector<LinkBytes> payload = {};
};

// Of single iterations, in the metric's unit.
struct Percentiles {
  std::uint64_t iterations = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;  // 99.9 %
  double longest = 0;
};

struct CaseResult {
  CaseName name;
  std::vector<double> samples;             // in the metric's unit
  std::vector<std::vector<double>> ranks;  // the same of every rank, where they are kept
  Measurement measurement;                 // its samples_us are not written
  std::vector<std::string> phases;         // names of those in `measurement`
  std::optional<Work> work = {};           // of an application (docs/reference/reading-records.md)
  std::uint64_t window = 1;
  std::uint64_t operations = 1;  // that an iteration has: times are of one of them
  std::size_t offset = 0;        // of the buffers, after a page boundary
  bool verified = false;
  std::string by = {};  // the method, where its record does not name it: in a library's place
  std::vector<std::string> needs;                    // of a method, as Method has it
  bool trial = false;                                // of a method, where others were better
  std::vector<std::optional<double>> cache_line_ns;  // as from CpuDistances; of a trial: empty
  std::optional<Percentiles> percentiles = {};       // of a time, with the first metric alone
  std::optional<CountedCase> counted = {};           // with the first metric of a case alone
};

// The status of a case that was given up for its budget.
inline constexpr const char* kTooSlow = "aborted: too slow";

struct WrongData {
  int rank;
  Mismatch where;
};

// For people, of a message of so many bytes.
std::string to_text(const WrongData& wrong, std::size_t size_bytes);

// What is tried of a library, and not measured.
struct ProbeCase {
  std::string buffers;
  std::string allocator;
  std::string operation;
  std::size_t offset = 0;
  std::string check;
};

// How it ended, or that it has begun.
struct ProbeOutcome {
  std::string status;
  std::string message = "";
  std::optional<std::size_t> size_bytes = {};
  std::optional<WrongData> wrong = {};
  double leaked_host_bytes = 0;  // each time
  double leaked_device_bytes = 0;
};

// A round of pairs of ranks, measured at the same time; a value for each pair.
struct PairsRound {
  std::uint64_t number;
  std::size_t small_bytes;
  std::size_t large_bytes;
  std::vector<int> first = {};
  std::vector<int> second = {};
  std::vector<double> latency_us = {};
  std::vector<double> bandwidth_gbs = {};
};

// Writes each line whole, at once. A line that cannot be written throws std::runtime_error.
class RecordWriter {
 public:
  RecordWriter() = default;                        // writes nothing
  explicit RecordWriter(const std::string& path);  // appends; throws std::runtime_error
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  // `places`: one JSON object per rank, as from to_json().
  void environment(const std::string& program, const std::optional<std::string>& library_version,
                   const std::vector<std::string>& places, const ClockQuality& clock,
                   const Counters* counters = nullptr);
  // A case is about to be measured: if nothing follows, it was not survived.
  void begins(const CaseName& name);
  void samples(const CaseResult& result);
  void wrong_data(const CaseName& name, const WrongData& wrong);
  void skipped(const CaseName& name, const std::string& reason);
  // `at_least`: of the metric.
  void too_slow(const CaseName& name, double at_least, const std::string& reason);
  void probe(const ProbeCase& tried, const ProbeOutcome& outcome);
  void pairs(const PairsRound& round);
  // Of a pair of a round: messages of so many bytes from `sender`.
  void wrong_pair(int sender, std::size_t size_bytes, const WrongData& wrong);

 private:
  void line(const std::string& text);
  int file_ = -1;
  std::string path_;
};

// One row per case on stdout, as the user expects from a benchmark.
class Table {
 public:
  void line(const std::string& text) const;
  void heading(const std::string& text) const;  // a comment line
  // Of a case with a result for each metric: the first with its spread, of the others the median.
  void columns(const std::vector<CaseResult>& results) const;
  void row(const std::vector<CaseResult>& results) const;
  void problem(std::size_t size_bytes, const std::string& message) const;
};

// The environment variables that shape a measurement, by an allow-list of prefixes; never secrets.
std::map<std::string, std::string> relevant_environment(const char* const* environment);

}  // namespace nearpeak
