// SPDX-License-Identifier: Apache-2.0
// What the command line of nearpeak-mpi asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "benchmark/selected.hpp"
#include "programs/mpi/device_choice.hpp"

namespace nearpeak {

// One operation to be tried on one kind of buffers: a benchmark's, or one that has no benchmark.
struct ProbeTrial {
  Kinds kinds;
  std::string operation;
  std::string allocator = kPlain;  // of the ranks with a kind that it gives
  std::size_t offset = 0;
  std::string check;               // one of probe_checks()
  std::vector<std::size_t> sizes;  // of a check of data, in place too
};

// What rounds of pairs of ranks measure.
struct Pairs {
  std::string rounds;  // a file with a line for each: "0-3 1-2", or "H,D 0-1"
  std::size_t small;   // bytes of a message of latency,
  std::size_t large;   // and of bandwidth
  // Buffers of the lower rank and of the other one, where a line names none: one after the other.
  std::vector<Kinds> kinds;
  std::vector<std::string> adapters;  // of the ranks in turn; empty: the library's choice
};

// The kinds of buffers of "H,D+D,H", each for two ranks. Throws BadInput.
std::vector<Kinds> parse_pair_kinds(const std::string& text);

// A part of a command line: what is measured with the same buffers and options.
struct Command {
  std::vector<Selected> selected;  // one after the other, or
  std::vector<ProbeTrial> trials;  // in this order
  std::vector<Kinds> kinds;        // of all ranks' buffers: of `selected`, one
  std::vector<DeviceSpec> devices;
  bool reversed = false;   // the last rank is rank 0
  std::size_t offset = 0;  // bytes of the buffers after a page boundary
  CommonOptions common;
  std::optional<Solve> solve;  // in place of measuring
  std::optional<Pairs> pairs;  // in place of all of it
  // Sentences for --check: which benchmarks an axis at the end of the line is not for.
  std::vector<std::string> notes;

  // The buffers as the launcher numbers the ranks.
  std::vector<Kinds> launched_kinds() const;
  // Throws BadInput where a benchmark does not run on so many ranks, or the buffers or devices are
  // not for them.
  void check_ranks(int ranks) const;
  // Whether what is measured calls MPI from several threads.
  bool calls_from_threads() const;
  // Whether the rank that the launcher calls so would give MPI an address of device memory.
  bool sends_from_device(int rank, int ranks) const;
};

// Returns what is to be run, part after part, as a + parts them: all of the same devices, and with
// the same file for their records. Exits the program for --help, --version and --describe. Throws
// BadInput.
std::vector<Command> parse(int argc, char** argv);

// The benchmarks and operations as JSON (docs/reference/describe.md).
std::string describe();

// The axes of a benchmark, its own and those that all have.
std::vector<Axis> axes_of(const Benchmark& benchmark);

}  // namespace nearpeak
