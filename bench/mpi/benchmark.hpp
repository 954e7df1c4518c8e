// SPDX-License-Identifier: Apache-2.0
// What a benchmark of nearpeak-mpi is. Each is one file that registers itself; the runner owns
// sampling, verification and records, so that a benchmark only says how its data moves.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/memory.hpp"
#include "mpi/device_choice.hpp"
#include "options/options.hpp"
#include "record/record.hpp"
#include "sampling/sampler.hpp"

namespace nearpeak {

// One thing that can be varied, as an option --NAME VALUE.
struct Axis {
  std::string name;
  std::vector<std::string> values;  // the first is the default
  std::string summary;
};

// The axis that every point-to-point benchmark has, set by CommonOptions::reuse.
inline constexpr const char* kReuse = "reuse";
inline Axis reuse_axis() {
  return {kReuse,
          {"fixed", "rotating"},
          "the same buffers in every iteration, as OMB does; or more of them than the caches hold, "
          "in turn"};
}

struct BenchmarkInfo {
  std::string name;
  std::string summary;
  std::string metric;  // which ceiling it is held against
  std::string unit;    // "us" or "GB/s"
  std::string better;  // "lower" or "higher"
  int ranks;
  std::size_t smallest;  // bytes: smaller sizes are left out
  std::vector<Axis> axes;
  bool symmetric;                       // false: what rank 0 sends is measured, not the way back
  std::vector<std::string> operations;  // of mpi/probe.hpp, that it is made of
};

struct CaseContext {
  MPI_Comm comm;
  int rank;
  BufferKind kind;  // of this rank's buffers,
  Memory& memory;   // and where they are: the CPU may not reach it
  Device* device;   // of this rank; null where its buffers need none
  std::size_t size_bytes;
  std::uint64_t window;       // messages in flight, where the benchmark has a window
  std::size_t offset;         // of the buffers, after a page boundary
  std::uint64_t cache_bytes;  // the largest cache that a rank's buffers may stay in
  Axes axes;                  // every axis of the benchmark

  bool rotating() const { return axes.at(kReuse) == "rotating"; }
  // Of the payload that `sender` sends: differs between ranks and sizes.
  std::uint64_t seed(int sender) const {
    return (static_cast<std::uint64_t>(sender + 1) << 48) ^ size_bytes;
  }
};

// One size of a benchmark on this rank, with its buffers. Every method is collective.
class Case {
 public:
  explicit Case(CaseContext context) : context_(std::move(context)) {}
  virtual ~Case() = default;

  virtual void iterate(std::uint64_t n) = 0;
  // From microseconds per iteration to the benchmark's unit.
  virtual double value(double us) const = 0;
  // Iterations after which every buffer has been used.
  virtual std::uint64_t cycle() const = 0;
  virtual std::uint64_t window() const { return 1; }
  // Measures what value() takes off, if it takes anything off.
  virtual void calibrate(Sampler&, const SamplingPolicy&) {}
  virtual std::optional<double> subtracted_us() const { return std::nullopt; }
  // Exchanges known payloads through every buffer and looks at what this rank received.
  virtual std::optional<Mismatch> verify() = 0;

 protected:
  CaseContext context_;
};

using MakeCase = std::unique_ptr<Case> (*)(const CaseContext&);

struct Benchmark {
  BenchmarkInfo info;
  MakeCase make;
};

// A static object of this type in a benchmark's file makes it known.
struct Register {
  Register(BenchmarkInfo info, MakeCase make);
};

const std::vector<Benchmark>& benchmarks();  // by name
std::string describe();                      // docs/describe.md

// One benchmark with a value for each of its axes.
struct Selected {
  const Benchmark* benchmark = nullptr;
  Axes axes;
  std::vector<std::size_t> sizes;  // in the order of measurement
};

// What is to be run.
struct Request {
  std::vector<Selected> selected;  // one after the other
  std::string buffers = "H,H";     // the kind of each rank's, as given
  Kinds kinds;                     // the same
  std::size_t offset = 0;          // bytes of the buffers after a page boundary
  CommonOptions common;

  int ranks() const { return selected.front().benchmark->info.ranks; }
};

// Collective. Returns the exit status: kGood or kWrongData. Throws BadInput, std::runtime_error.
int run(const Request& request, const DeviceChoice& devices);

// Throws BadInput unless MPI has started as many ranks as `name` needs.
void check_ranks(const std::string& name, int needed);

}  // namespace nearpeak
