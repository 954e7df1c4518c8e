// SPDX-License-Identifier: Apache-2.0
// The two ends of a data path, and what they measure together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accel/memory.hpp"
#include "native/mode.hpp"
#include "options/options.hpp"
#include "record/record.hpp"
#include "sampling/sampler.hpp"

namespace nearpeak {

// Two processes: rank 0 leads, and has the clock and the records.
class Team : public Coordinator {
 public:
  virtual int rank() const = 0;
  bool leads() const final { return rank() == 0; }
  // The follower's text, on the leader; the leader's own argument is ignored.
  virtual std::string tell_leader(const std::string& text) = 0;
};

enum class Pattern {
  kPingPong,  // an iteration is one message there and one back
  kOneWay,    // a window of messages from the leader, then an empty answer
  kBothWays,  // a window each way at once; it ends when both know that all has arrived
  kAlone,     // something that one end does
};

// One size of one metric, as both ends know it.
struct Exchange {
  Metric metric;
  Pattern pattern;
  std::size_t bytes;
  std::uint64_t window;   // messages in flight
  std::uint64_t windows;  // of different buffers, before the first are used again
  int rank;

  int peer() const { return 1 - rank; }
  bool sends() const { return pattern != Pattern::kOneWay || rank == 0; }
  bool receives() const { return pattern != Pattern::kOneWay || rank == 1; }
  std::uint64_t slots() const { return window * windows; }
  // Of the payload that `sender` sends: differs between ranks and sizes.
  std::uint64_t seed(int sender) const {
    return (static_cast<std::uint64_t>(sender + 1) << 48) ^ bytes;
  }
  double value(double us) const;  // of the metric, from microseconds per iteration
};

const std::vector<Metric>& pair_metrics();  // latency, bw, bibw

// The exchange of a metric at a size, by the options that MPI's benchmarks have too. Rotating
// buffers are more than caches of `cache_bytes` hold.
Exchange make_exchange(const Metric& metric, std::size_t bytes, const CommonOptions& common,
                       int rank, std::uint64_t cache_bytes = largest_cache());

// Bytes that are at least taken for the slots of one end, at any of the sizes.
std::size_t most_slot_bytes(const std::vector<Metric>& metrics,
                            const std::vector<std::size_t>& sizes, const CommonOptions& common,
                            std::uint64_t cache_bytes = largest_cache());

// The slots of one end, and which of them the next window takes.
class Slots {
 public:
  explicit Slots(const Exchange& exchange) : window_(exchange.window), all_(exchange.slots()) {}
  std::size_t first() const { return first_; }
  void next() {
    first_ += window_;
    if (first_ == all_) first_ = 0;
  }

 private:
  std::size_t window_;
  std::size_t all_;
  std::size_t first_ = 0;
};

// One method at work on one exchange, at this end.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void iterate(std::uint64_t n) = 0;
};

// The rounds of an exchange, one for each iteration. Self has ping_pong(), one_way() and
// both_ways(), each a whole round at its end. Resolved when compiled: a round may take 30 ns.
// End has the exchange, among what else a method has at one end.
template <class Self, class End>
class RoundTransfer : public Transfer {
 public:
  explicit RoundTransfer(const End& end) : end_(end), slots_(end.exchange) {}

  void iterate(std::uint64_t n) final {
    Self& self = static_cast<Self&>(*this);
    for (std::uint64_t i = 0; i < n; ++i) {
      ++round_;
      switch (end_.exchange.pattern) {
        case Pattern::kPingPong:
          self.ping_pong();
          break;
        case Pattern::kOneWay:
          self.one_way();
          break;
        case Pattern::kBothWays:
          self.both_ways();
          break;
        case Pattern::kAlone:
          break;
      }
      slots_.next();
    }
  }

 protected:
  const End end_;
  Slots slots_;
  std::uint64_t round_ = 0;  // this one's number, from 1
};

// How a method's record says that it was slower in its trial; results/ceilings.py knows how it
// begins.
inline constexpr const char* kTrialOnly = "a short trial: slower than others";

// What a trial may take for its method to be measured, from the time of every trial (at least one).
double enough_us(std::vector<double> trials_us);

// A method for an exchange, and how it is started at this end.
struct Candidate {
  std::string method;
  std::function<std::unique_ptr<Transfer>()> make;
};

// Measures the methods of every exchange and writes their records. Collective.
class Contest {
 public:
  Contest(Team& team, const std::string& benchmark, const CommonOptions& common, bool probe,
          const std::string& buffers = "H,H");

  // Called at both ends with the accelerator that they took: the records begin.
  void open(const std::optional<RankDevice>& device = std::nullopt);
  // The candidates of both ends are the same. All are verified, then tried shortly; the best are
  // measured, the others are left at that, which their record says.
  void run(const Exchange& exchange, SlotBuffer& in, const std::vector<Candidate>& candidates);
  // A record each time, and a line on stdout for a reason that was not told yet.
  void skip(const Exchange& exchange, const std::string& method, const std::string& reason);
  // What else than methods of an exchange is measured. Collective; the leader's transfer is timed.
  void measure(const Exchange& exchange, const std::string& method, Transfer& transfer);
  // Called by the leader with what was measured in another way.
  void record(const Exchange& exchange, const std::string& method, const Measurement& measurement);
  // Whether what both received was right; if not, that is a record. Collective.
  bool right(const Exchange& exchange, const std::string& method,
             const std::optional<Mismatch>& wrong);
  int status() const { return status_; }

 private:
  struct Trial;
  bool verified(const Exchange& exchange, SlotBuffer& in, Transfer& transfer, Trial& trial);
  CaseName name(const Exchange& exchange, const std::string& method) const;

  Team& team_;
  std::string benchmark_;
  std::string buffers_;
  const CommonOptions& common_;
  bool probe_;
  ClockQuality clock_;
  Sampler sampler_;
  RecordWriter writer_;
  Table table_;
  std::string shown_metric_;
  std::set<std::string> shown_reasons_;
  int status_ = kGood;
};

}  // namespace nearpeak
