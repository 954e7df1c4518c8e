// SPDX-License-Identifier: Apache-2.0
#include "programs/native/verbs.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "group/socket.hpp"
#include "options/launched.hpp"
#include "programs/native/perftest.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kSamples = 3;                           // each is a run of two programs
constexpr std::uint64_t kLeast = 5;                             // messages that perftest takes
constexpr std::uint64_t kMost = 1'000'000;                      // it keeps a time of each in memory
constexpr std::uint64_t kTrial = 1000;                          // messages of a first run,
constexpr std::uint64_t kTrialBytes = std::uint64_t{64} << 20;  // if they are no more than this
constexpr int kGiveUp = 2;             // sizes in a row at which a method fails
constexpr double kAfter = 5;           // seconds for a program to end after the other end's,
constexpr double kAfterFailure = 0.5;  // and where that one has failed

// What became of a run, known to both ends: microseconds an iteration, or the reason why not.
struct Outcome {
  double us = 0;
  std::string reason{};
  bool good() const { return reason.empty(); }
};

// One size of a benchmark.
struct VerbsCase {
  const Benchmark& benchmark;
  const CaseContext& context;
  std::uint64_t window;

  const std::string& name() const { return benchmark.info.name; }
  const Metric& metric() const { return benchmark.info.metrics.front(); }
  bool latency() const { return name() == "latency"; }
  bool both_ways() const { return name() == "bibw"; }
  // perftest sends no empty messages: a byte stands for one, as in mode tcp.
  std::size_t bytes() const { return std::max<std::size_t>(context.bytes, 1); }
  // GB/s from microseconds an iteration, or the other way round: by the same division.
  double us_or_rate(double value) const {
    const auto payload = static_cast<double>(context.bytes * window) * (both_ways() ? 2 : 1);
    return payload / value / 1e3;
  }
};

bool is_uuid(const std::string& device) { return device.rfind("GPU-", 0) == 0; }

class VerbsEnd {
 public:
  VerbsEnd(const VerbsOptions& options, SocketGroup& group, std::vector<const Benchmark*> asked)
      : options_(options),
        group_(group),
        runner_(group, options.common, options.naming(options.buffers)),
        asked_(std::move(asked)) {}

  int run(const std::vector<VerbsMethod>& methods) {
    // The other end's address: each has it of the connection between the two.
    const int other = group_.leads() ? 1 : kLeaderRank;
    peer_ = group_.address_of(other);
    open_records(runner_, "verbs");
    for_each_case(runner_, options_, {}, asked_,
                  [&](const Benchmark& benchmark, const CaseContext& context) {
                    measure({benchmark, context, benchmark.messages(context).window}, methods);
                  });
    return runner_.status();
  }

 private:
  struct Trial {
    const VerbsMethod* method;
    std::uint64_t batch;
    double us;
  };

  CaseName name_of(const VerbsCase& made, const VerbsMethod& method) const {
    return runner_.name_of(made.benchmark, made.metric(), made.context, method.name);
  }

  // Each method is tried shortly; the best are measured, the others are left at that.
  void measure(const VerbsCase& made, const std::vector<VerbsMethod>& methods) {
    std::vector<Trial> trials;
    for (const VerbsMethod& method : methods) {
      if (method.latency != made.latency() || made.window % method.queues != 0) continue;
      const std::string key = made.name() + " " + method.name;
      std::string& given_up = given_up_[key];
      if (!given_up.empty()) {
        runner_.skip(name_of(made, method), given_up);
        continue;
      }
      const std::uint64_t batch = trial_batch(made, method);
      const Outcome outcome = run_once(made, method, batch);
      if (outcome.good()) {
        failures_[key] = 0;
        trials.push_back({&method, batch, outcome.us});
        continue;
      }
      runner_.skip(name_of(made, method), outcome.reason);
      if (++failures_[key] == kGiveUp) given_up = outcome.reason + " (given up)";
    }
    if (trials.empty()) return;
    std::vector<double> best;
    for (const Trial& trial : trials) best.push_back(trial.us);
    const double enough = enough_us(std::move(best));
    for (const Trial& trial : trials) sample(made, trial, enough);
  }

  void sample(const VerbsCase& made, const Trial& trial, double enough_us) {
    CaseResult result;
    result.name = name_of(made, *trial.method);
    result.window = made.window;
    Measurement& measurement = result.measurement;
    const std::int64_t begin = now_ns();
    if (trial.us > enough_us) {
      measurement.samples_us = {trial.us};
      measurement.batch = trial.batch;
      measurement.limited = kTrialOnly;
      result.trial = true;
    } else {
      measurement.batch = sample_batch(made, *trial.method, trial.us);
      measurement.warmup_iterations = trial.batch;
      const std::uint64_t count = std::min(kSamples, options_.common.least_samples);
      for (std::uint64_t i = 0; i < count; ++i) {
        const Outcome outcome = run_once(made, *trial.method, measurement.batch);
        if (!outcome.good()) return runner_.skip(result.name, outcome.reason);
        measurement.samples_us.push_back(outcome.us);
      }
      if (count < options_.common.least_samples)
        measurement.limited = "each sample is a run of perftest's programs";
    }
    measurement.iterations = measurement.batch * measurement.samples_us.size();
    measurement.seconds = static_cast<double>(now_ns() - begin) / 1e9;
    for (const double us : measurement.samples_us)
      result.samples.push_back(made.latency() ? us / 2 : made.us_or_rate(us));
    runner_.record({result});
  }

  // An iteration is a round trip, or a window of messages over all queue pairs.
  static std::uint64_t depth(const VerbsCase& made, const VerbsMethod& method) {
    return method.latency ? 1 : made.window / method.queues;
  }

  static std::uint64_t batch_of(const VerbsCase& made, const VerbsMethod& method,
                                std::uint64_t messages) {
    const std::uint64_t each = depth(made, method);
    const std::uint64_t least = (kLeast + each - 1) / each;
    return std::clamp(messages / each, least, std::max(least, kMost / each));
  }

  static std::uint64_t trial_batch(const VerbsCase& made, const VerbsMethod& method) {
    const std::uint64_t fit = kTrialBytes / made.bytes();
    return batch_of(made, method, std::min(kTrial, fit) / method.queues);
  }

  std::uint64_t sample_batch(const VerbsCase& made, const VerbsMethod& method, double us) const {
    const double wanted = options_.common.slot_ms * 1e3 / static_cast<double>(kSamples);
    const double iterations = std::min(wanted / us, static_cast<double>(kMost));
    return batch_of(made, method, static_cast<std::uint64_t>(iterations) * depth(made, method));
  }

  // Collective, as all that follows.
  Outcome run_once(const VerbsCase& made, const VerbsMethod& method, std::uint64_t batch) {
    Outcome outcome = run_programs(made, method, batch);
    if (!outcome.good() && dmabuf_ && options_.buffers.find('D') != std::string::npos) {
      // Older kernels reach GPUs without it, by a module of the vendor's driver.
      dmabuf_ = false;
      outcome = run_programs(made, method, batch);
      if (!outcome.good()) dmabuf_ = true;
    }
    return outcome;
  }

  Outcome run_programs(const VerbsCase& made, const VerbsMethod& method, std::uint64_t batch) {
    const bool client = method.client == group_.rank();
    std::vector<std::string> arguments;
    ChildProgram::Environment environment;
    std::string trouble = make_arguments(made, method, batch, arguments, environment);
    std::optional<ChildProgram> program;
    if (!client && trouble.empty()) {
      program.emplace(arguments, environment);
      trouble = program->wait_listening(options_.port + 1, options_.start_s);
    }
    double value = 0;
    if (group_.everywhere(trouble.empty())) {
      if (client) {
        arguments.push_back(peer_);
        program.emplace(arguments, environment);
        trouble = program->wait_end(options_.start_s + options_.common.limit_s);
      }
      const bool well = group_.everywhere(trouble.empty());
      if (!client) {
        trouble = program->wait_end(well ? kAfter : kAfterFailure);
        // It was only left alone by the other, which knows why.
        if (!well && trouble.find(": no end within ") != std::string::npos) trouble.clear();
      }
      if (client && trouble.empty()) trouble = read(made, method, program->output(), value);
    }
    Outcome outcome{.reason = group_.first_reason(trouble)};
    outcome.us = group_.gather(value)[static_cast<std::size_t>(method.client)];
    return outcome;
  }

  // Microseconds an iteration of what the program has printed; returns why there are none.
  static std::string read(const VerbsCase& made, const VerbsMethod& method,
                          const std::string& output, double& us) {
    const auto printed = method.latency ? perftest_latency_us(output, made.bytes())
                                        : perftest_gbs(output, made.bytes());
    if (!printed) return method.program + ": prints no result for messages of this size";
    us = method.latency ? 2 * *printed : made.us_or_rate(*printed);
    return "";
  }

  // Returns why this end's program cannot be started so.
  std::string make_arguments(const VerbsCase& made, const VerbsMethod& method, std::uint64_t batch,
                             std::vector<std::string>& out,
                             ChildProgram::Environment& environment) {
    const std::uint64_t each = depth(made, method);
    out = {method.program, "-F"};
    const auto add = [&out](const std::string& option, const auto& value) {
      std::ostringstream text;
      text << value;
      out.insert(out.end(), {option, text.str()});
    };
    add("-s", made.bytes());
    add("-n", batch * each);
    add("-p", options_.port + 1);
    if (!options_.adapter.empty()) {
      const std::size_t colon = options_.adapter.find(':');
      add("-d", options_.adapter.substr(0, colon));
      if (colon != std::string::npos) add("-i", options_.adapter.substr(colon + 1));
    }
    if (!method.latency) {
      add("-t", each);
      // A completion for each quarter of the window, so that it does not run dry in between.
      add("-Q", std::max<std::uint64_t>(1, each / 4));
      add("-q", method.queues);
      out.push_back("-N");  // no peak, for which each message would be timed
      if (made.both_ways()) out.push_back("-b");
    }
    if (options_.buffers[2 * static_cast<std::size_t>(group_.rank())] != 'D') return "";
    std::string help;
    if (std::string reason = ask_help(method.program, help); !reason.empty()) return reason;
    const std::string device = options_.devices[static_cast<std::size_t>(group_.rank())];
    const std::string kind = help.find("--use_cuda=") != std::string::npos   ? "cuda"
                             : help.find("--use_rocm=") != std::string::npos ? "rocm"
                                                                             : "";
    if (kind.empty())
      return method.program +
             ": built without GPU memory (no --use_cuda or --use_rocm): build perftest with it";
    // perftest takes an index alone: of a GPU by its UUID it sees only that one.
    if (is_uuid(device))
      environment[kind == "cuda" ? "CUDA_VISIBLE_DEVICES" : "ROCR_VISIBLE_DEVICES"] = device;
    out.push_back("--use_" + kind + "=" + (is_uuid(device) ? "0" : device));
    if (dmabuf_ && help.find("--use_" + kind + "_dmabuf") != std::string::npos)
      out.push_back("--use_" + kind + "_dmabuf");
    if (method.latency) add("-I", 0);  // the CPU cannot put a GPU's bytes into the request
    return "";
  }

  // Its help; where it has none, that is empty and the reason is returned.
  std::string ask_help(const std::string& program, std::string& text) {
    text = help_[program];
    if (!text.empty()) return "";
    ChildProgram asked({program, "--help"});
    const std::string reason = asked.wait_end(options_.start_s);
    text = help_[program] = asked.output();
    return text.empty() ? reason : "";  // perftest's exit with 1 after their help
  }

  const VerbsOptions& options_;
  SocketGroup& group_;
  Runner runner_;
  const std::vector<const Benchmark*> asked_;
  std::string peer_;
  bool dmabuf_ = true;
  std::map<std::string, int> failures_;  // metric and method -> sizes in a row
  std::map<std::string, std::string> given_up_;
  std::map<std::string, std::string> help_;
};

void check_ends(const VerbsOptions& options) {
  const auto kinds = split(options.buffers);
  const auto known = [](const std::string& kind) { return kind == "H" || kind == "D"; };
  if (kinds.size() != 2 || !known(kinds[0]) || !known(kinds[1]))
    throw BadInput("--buffers of verbs take H (host) or D (device) for each end, like H,D");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    if (kinds[rank] != "D") continue;
    const std::string device = options.devices.size() == 2 ? options.devices[rank] : "";
    const bool index =
        !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
    if (!index && !is_uuid(device))
      throw BadInput("--buffers " + options.buffers +
                     " needs --devices with the index or the UUID of each end's GPU, - for host "
                     "memory: --devices 0,1 or -,0");
  }
}

// Those that perftest has programs for.
std::vector<Metric> verbs_metrics() {
  std::vector<Metric> all;
  for (const char* name : {"latency", "bw", "bibw"})
    all.push_back(find_benchmark(name).info.metrics.front());
  return all;
}

class VerbsMode final : public Mode {
 public:
  VerbsMode()
      : Mode("verbs",
             "two hosts through RDMA adapters, in host or GPU memory: by the programs of "
             "perftest") {
    options_.common.reuses = {"fixed"};  // perftest's buffers are its own
    options_.common.touches = {"none"};
  }

  std::vector<Metric> metrics() const override { return verbs_metrics(); }
  std::vector<Axis> axes() const override { return common_axes(options_.common); }
  void add_options(CLI::App& app) override {
    options_.common.with_device = true;
    options_.add_plateau(app);
    options_.add_to(app, "latency,bw,bibw", "");
    app.add_option("--peer", options_.peer,
                   "a launcher has started this process, as one of two ranks: the host of rank 0")
        ->required();
    app.add_option("--port", options_.port,
                   "where rank 0 listens; perftest's programs listen on the next one")
        ->check(CLI::Range(1, 65534))
        ->required();
    app.add_option("--adapter", options_.adapter,
                   "adapter of both hosts, with or without its port: mlx5_0:1; default: perftest's "
                   "choice");
    app.add_option("--buffers", options_.buffers, "each end's kind of buffer: H host, D device")
        ->default_val("H,H");
    app.add_option("--devices", devices_,
                   "the index or the UUID of each end's GPU, - for host memory: -,0");
  }

  int run() override {
    options_.devices = split(devices_);
    return run_verbs(options_, verbs_methods());
  }

 private:
  VerbsOptions options_;
  std::string devices_;
};

const RegisterMode<VerbsMode> verbs_mode;

}  // namespace

const std::vector<VerbsMethod>& verbs_methods() {
  static const std::vector<VerbsMethod> all{
      {"write", "ib_write_lat", true, 1, 0},
      // The only one of perftest's ping-pongs that can be in GPU memory.
      {"send", "ib_send_lat", true, 1, 0},
      {"write", "ib_write_bw", false, 1, 0},
      {"read", "ib_read_bw", false, 1, 1},
      {"write-q2", "ib_write_bw", false, 2, 0},
      {"write-q4", "ib_write_bw", false, 4, 0}};
  return all;
}

int run_verbs(const VerbsOptions& options, std::vector<VerbsMethod> methods) {
  const int rank = launched_rank_of_two("verbs");
  check_ends(options);
  choose(options.methods, methods);
  if (options.as_library)
    throw BadInput("verbs runs perftest's programs, and no transports: leave --as-library out");
  std::vector<std::string> known;
  for (const Metric& metric : verbs_metrics()) known.push_back(metric.name);
  check_names(options.metrics, known, "metric");
  const auto asked = transport_benchmarks(options, 2);
  options.common.ordered_sizes();
  options.common.window_at(1);
  const double patience_s = options.stall_s(methods.size()) + 2 * options.start_s;
  if (rank != kLeaderRank) {
    SocketGroup group(options.peer, options.port, rank, 2, patience_s);
    return VerbsEnd(options, group, asked).run(methods);
  }
  const Socket listener = listen_as(options.peer, options.port);
  options.check();
  SocketGroup group(listener, 2, patience_s);
  return VerbsEnd(options, group, asked).run(methods);
}

}  // namespace nearpeak
