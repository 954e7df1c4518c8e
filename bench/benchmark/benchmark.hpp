// SPDX-License-Identifier: Apache-2.0
// What a benchmark is. Each is one file that registers itself; the runner owns sampling,
// verification and records, so that a benchmark only says what is done once.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"
#include "counters/source.hpp"
#include "group/group.hpp"
#include "options/options.hpp"
#include "record/record.hpp"
#include "sampling/sampler.hpp"
#include "transport/transport.hpp"

namespace nearpeak {

// One thing that can be varied, as an option --NAME VALUE.
struct Axis {
  std::string name;
  std::vector<std::string> values;  // the first is the default
  std::string summary;
  std::vector<std::string> host_only = {};  // values that take ordinary host memory of all ranks
  std::vector<std::string> usual = {};      // what a study measures by itself; none: the default
  // Who lacks it does as its default, and only other values are named in cases.
  bool implied = false;

  // The first value that takes the ranks' buffers: all of them in ordinary host memory, or not.
  const std::string& default_of(bool host) const;
};

// How many ranks a benchmark can run on.
struct RankRule {
  enum class Kind { kExactly, kAtLeast, kEven };
  Kind kind = Kind::kExactly;
  int count = 2;  // exactly so many, or at least

  bool fits(int ranks) const;
  std::string name() const;  // "exactly", "at least", "even"
  std::string text() const;  // "exactly 2 ranks"
};

// What one iteration moves between a pair of ranks.
struct Moves {
  int ways = 1;         // 2: there and back
  bool window = false;  // as many messages as are in flight, not one
};

// What at least one rank must receive, or send, in one collective operation, as a multiple of the
// size: once + times_ranks * n + by_ranks / n of n ranks; all zero where it moves no data. Over the
// time it is the bus bandwidth of nccl-tests (doc/PERFORMANCE.md there).
struct Traffic {
  int once = 0;
  int times_ranks = 0;
  int by_ranks = 0;
};

// Which way the data of a one-sided operation goes from the rank that calls it: the other one may
// take no part.
enum class OneSided { kNo, kPut, kGet };

struct BenchmarkInfo {
  std::string name;
  std::string family = {};  // where it is not the folder of its file, which Register knows
  std::string summary;
  std::vector<Metric> metrics = {};  // what one sample tells; the first is the main one
  RankRule ranks = {};
  std::size_t smallest = 0;     // bytes: smaller sizes are left out,
  std::size_t largest = 0;      // and larger ones; 0: none
  bool sized = true;            // false: measured once, at 0 bytes
  std::vector<Axis> axes = {};  // beside those of CommonOptions
  bool symmetric = true;        // false: what rank 0 sends is measured, not the way back
  XAxis x = {};
  Moves moves = {};
  std::optional<Traffic> traffic = {};
  // What no rank can do without, where that is less: of a network that adds up, or ranks that help
  // the root.
  std::optional<Traffic> least = {};
  // Benchmarks of operations that do the same at the same size, and more.
  std::vector<std::string> covered_by = {};
  std::optional<double> bound = {};  // of the main metric: nothing is better, on no machine
  std::string bound_by = {};         // no better than this benchmark is at the same size
  OneSided one_sided = OneSided::kNo;
  bool budgeted = false;  // a case whose iterations take too long is given up (--budget-ms)
  bool usual = false;     // measured when nothing is asked for
  bool threads = false;   // calls MPI from several threads, which must be said when it begins
  bool staged = false;    // its messages may be staged, as those over a transport (mpi/methods.hpp)
  Sync sync = Sync::kNone;
  Reduce reduce = Reduce::kLeader;

  // Else it is an application: its sizes are of a problem, not of messages.
  bool over_bytes() const { return x.unit == XAxis{}.unit; }
  bool has_size(std::size_t bytes) const {
    return bytes >= smallest && (largest == 0 || bytes <= largest);
  }
};

struct CaseContext;
// The ways by which messages may go to another rank.
using Methods =
    std::function<std::vector<Method>(const CaseContext&, const Messages&, const Buffers&)>;

struct CaseContext {
  Group& group;
  BufferKind kind;  // of this rank's buffers,
  Memory& memory;   // and where they are: the CPU may not reach it
  Device* device;   // of this rank; null where its buffers need none
  std::size_t bytes;
  std::uint64_t window;       // messages in flight, where the benchmark has a window
  std::size_t offset;         // of the buffers, after a page boundary
  std::uint64_t cache_bytes;  // the largest cache that a rank's buffers may stay in
  std::uint64_t most_bytes;   // of a rank's buffers, where these grow with the ranks
  Axes axes;                  // every axis of the benchmark, and those of CommonOptions
  Methods methods;            // of this program
  bool timed = true;          // an iteration may repeat what it does, for a better figure

  const std::string& axis(const std::string& name) const { return axes.at(name); }
};

// As an application does before it sends: here a byte of every cache line.
inline void write_lines(volatile char* data, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < bytes; i += kLine) data[i] = data[i];
}

// The times of one sample, in microseconds per iteration, or per operation of it.
struct Times {
  double us;
  std::vector<double> phases_us;
  std::vector<double> typical_phases_us;  // the medians over all samples
};

// Rounds of verification behind the timing, where they take no time, and at least.
inline constexpr std::uint64_t kRounds = 8;
inline constexpr std::uint64_t kFewestRounds = 2;

// One size of a benchmark on this rank.
class Case : public Sampled {
 public:
  // Of each of the benchmark's metrics, in its unit.
  virtual std::vector<double> values(const Times& times) const = 0;
  // How many follow each other in an iteration, where that is a batch of them: all times are of one
  // operation.
  virtual std::uint64_t operations() const { return 1; }
  virtual std::uint64_t window() const { return 1; }
  // Iterations after which every buffer has been used.
  virtual std::uint64_t cycle() const { return 1; }
  // Of this rank: what a round of verification makes ready, moves and looks at. Where that is much,
  // fewer rounds are run.
  virtual std::size_t round_bytes() const = 0;
  // So many show as much as kRounds of one message each.
  virtual std::uint64_t fewest_rounds() const { return kFewestRounds; }
  // Of this rank; none where nobody can say.
  virtual std::optional<Work> work() const { return std::nullopt; }
  // Payload that leaves and reaches this rank's buffers in one operation; none where nobody can
  // say.
  virtual std::optional<LinkBytes> payload() const { return std::nullopt; }

  // Payloads change with the round. Round 0 is what is timed: begin_round(0) makes all buffers
  // ready. Every later round is a run_round(). Once it has run, wrong() says what did not arrive as
  // it should have; after round 0, of all that was timed. With Part::kAll what is received is
  // poisoned before, and looked at whole; with Part::kStamps the payload of the round before lies
  // there, and a look at what has changed is enough.
  virtual void begin_round(std::uint64_t round, Part part) = 0;
  // An iteration, unless more must be run to show what is wrong, or less.
  virtual void run_round(std::uint64_t) { run(1); }
  virtual std::optional<Mismatch> wrong(std::uint64_t round, Part part) const = 0;
};

// Why a case cannot be; thrown on every rank.
class Unfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What `action` fails with for want of memory or by the device; empty where it is done.
template <class Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const AcceleratorOutOfMemory& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const AcceleratorError& error) {
    return error.what();
  }
  return "";
}

// A step of a case that every rank makes. Throws Unfit on all where one fails. Collective.
template <class Action>
void on_every_rank(Group& group, Action action) {
  std::string why = failure_of(action);
  if (!why.empty()) why = "rank " + std::to_string(group.rank()) + ": " + why;
  why = group.first_reason(why);
  if (!why.empty()) throw Unfit(why);
}

// How an application is to solve its problem.
struct Solve {
  double tolerance;           // of the distance from the solution
  std::uint64_t most;         // iterations, if it does not get there
  std::string solution = {};  // a file, or empty
};

struct Benchmark {
  BenchmarkInfo info;
  // Over the library's own operation. Throws std::bad_alloc and Unfit.
  std::function<std::unique_ptr<Case>(const CaseContext&)> make = nullptr;
  // Over a transport: what it asks of it, and the case.
  std::function<Messages(const CaseContext&)> messages = nullptr;
  std::function<std::unique_ptr<Case>(const CaseContext&, const Messages&, const Buffers&,
                                      Transport&)>
      make_over = nullptr;

  // Of an application: solves its problem and prints how it goes. Returns the exit status; throws
  // Unfit on all ranks. Collective.
  std::function<int(const CaseContext&, const Solve&)> solve = nullptr;

  bool over_transport() const { return messages != nullptr; }
  // What there is to hold it against: "measured" by nearpeak-native; a "bound", its own or one that
  // follows from what is measured so; or "none".
  std::string ceiling() const {
    if (over_transport()) return "measured";
    return info.traffic || info.bound || !info.bound_by.empty() ? "bound" : "none";
  }
};

// A static object of this type in a benchmark's file makes it known, or several of them.
struct Register {
  explicit Register(Benchmark benchmark,
                    std::source_location file = std::source_location::current());
  explicit Register(std::vector<Benchmark> all,
                    std::source_location file = std::source_location::current());
};

const std::vector<Benchmark>& benchmarks();                 // by name
const Benchmark* benchmark_named(const std::string& name);  // null: there is none
// Throws BadInput that names those there are.
const Benchmark& find_benchmark(const std::string& name);

}  // namespace nearpeak
