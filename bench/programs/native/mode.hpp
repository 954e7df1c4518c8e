// SPDX-License-Identifier: Apache-2.0
// What a mode of nearpeak-native is: one kind of data path whose ceilings it measures. Each is one
// file that registers itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/describe.hpp"
#include "benchmark/runner.hpp"

namespace CLI {
class App;
}

namespace nearpeak {

// The options that modes share.
struct ModeOptions {
  CommonOptions common;
  std::vector<int> cpus;               // one for each process
  std::vector<std::string> metrics{};  // those asked for; empty: the usual ones
  std::vector<std::string> methods{};  // likewise; empty: all
  std::size_t plateau = 0;             // bytes: one more size, of rates alone; 0: none
  bool as_library = false;  // the best alone is recorded, under the names of the benchmarks

  // `metrics_help`, `cpus_help`: what is said of those; without the latter there is no --cpus.
  void add_to(CLI::App& app, const std::string& metrics_help, const std::string& cpus_help);
  // Of the modes that measure messages: --plateau.
  void add_plateau(CLI::App& app);
  // The sizes of a benchmark, in the order in which they are measured.
  std::vector<std::size_t> sizes_of(const BenchmarkInfo& benchmark) const;
  // Throws BadInput for what no case may be measured with, while there is but one process to say
  // so: sizes, the window, a file that cannot be written.
  void check() const;
  Naming naming(const std::string& buffers = "H,H") const;
  // How long nothing may be heard of a process that measures.
  double stall_s(std::size_t method_count) const;
};

class Mode {
 public:
  Mode(std::string name, std::string summary)
      : name_(std::move(name)), summary_(std::move(summary)) {}
  virtual ~Mode() = default;
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  // None: it measures nothing, and --describe leaves it out.
  virtual std::vector<Metric> metrics() const = 0;
  virtual std::vector<Axis> axes() const { return common_axes(); }  // beside the metrics
  virtual void add_options(CLI::App& app) = 0;
  // Returns the exit status. Throws BadInput before anything is measured or written, and
  // std::runtime_error.
  virtual int run() = 0;

 private:
  std::string name_;
  std::string summary_;
};

void register_mode(std::function<std::unique_ptr<Mode>()> make);

// A static object of this type makes a mode known.
template <class Made>
struct RegisterMode {
  RegisterMode() {
    register_mode([] { return std::make_unique<Made>(); });
  }
};

// By name, each with options of its own.
std::vector<std::unique_ptr<Mode>> modes();
std::string describe_modes();

// Whether it is asked for; all are where nothing is.
bool wanted(const std::vector<std::string>& asked, const std::string& name);

// Leaves the methods that are asked for. Throws BadInput for a name that none has; several may have
// the same.
template <class Named>
void choose(const std::vector<std::string>& asked, std::vector<Named>& methods) {
  std::vector<std::string> names;
  for (const Named& method : methods) names.push_back(method.name);
  check_names(asked, names, "method");
  std::erase_if(methods, [&](const Named& method) { return !wanted(asked, method.name); });
}

// The metrics of all benchmarks that go over a transport.
std::vector<Metric> transport_metrics();
// The benchmarks that are asked for, in that order, or the usual ones. Throws BadInput where one is
// not known, is none over a transport, does not fit as many ranks, or has none of the sizes and was
// named.
std::vector<const Benchmark*> transport_benchmarks(const ModeOptions& options, int ranks);

// Where the buffers of this rank are.
struct RankSetup {
  BufferKind kind = BufferKind::kHost;
  Memory& memory = host_memory();
  Device* device = nullptr;
  std::optional<std::uint64_t> cache_bytes = {};  // none: as the options have it
  Methods methods = nullptr;                      // by which messages may go
};

// The device of one process.
struct TakenDevice {
  std::unique_ptr<Accelerator> accelerator;
  Device* device = nullptr;
};
// Throws BadInput, BackendUnavailable, AcceleratorError.
TakenDevice take_device(const std::string& text);

// Begins the records and, with `heading`, the table. Collective.
void open_records(Runner& runner, const std::string& heading,
                  const std::optional<RankDevice>& device = std::nullopt);
// Calls measure(benchmark, context) for every size of every benchmark; in the place of a library
// each has a heading, as one of MPI. Collective.
void for_each_case(Runner& runner, const ModeOptions& options, const RankSetup& setup,
                   const std::vector<const Benchmark*>& asked,
                   const std::function<void(const Benchmark&, const CaseContext&)>& measure);
// As for_each_case() makes it.
CaseContext context_of(Group& group, const ModeOptions& options, const RankSetup& setup,
                       const Benchmark& benchmark, std::size_t bytes);

// Bytes that are at least taken for the slots of one end, in any of the cases.
std::size_t most_slot_bytes(const ModeOptions& options, const std::vector<const Benchmark*>& asked,
                            std::optional<std::uint64_t> cache_bytes = {});

}  // namespace nearpeak
