// SPDX-License-Identifier: Apache-2.0
// Facts that the times of messages on GPUs are made of: opening memory, and flags and messages that
// a kernel waits for. Of two ranks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include "programs/native/gpu.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // of kernels that wait for a flag
constexpr std::size_t kLargestPassed = 64 << 10;      // bytes: one block carries no more at speed
constexpr double kPassedSampleUs = 200;               // GPU timers may step by 1 us
constexpr std::uint64_t kPassedTrial = 64;  // round trips that foretell how many are timed

// What `action` fails with at either end, known to both; empty where it is done at both.
template <class Action>
std::string failure_of(Group& group, Action action) {
  return group.first_reason(nearpeak::failure_of(action));
}

Program& motion_of(const GpuRank& rank) {
  if (rank.motion == nullptr) throw AcceleratorError(rank.why_no_kernels);
  return *rank.motion;
}

// Of the leader, who alone opens; closing is not timed.
Measurement open_repeatedly(Ipc& ipc, const IpcHandle& handle, const SamplingPolicy& policy) {
  Measurement measurement;
  auto& samples = measurement.samples_us;
  const std::int64_t start = now_ns();
  const auto spent = [start] { return static_cast<double>(now_ns() - start) / 1e9; };
  const auto open_us = [&] {
    const std::int64_t begin = now_ns();
    const auto opened = ipc.open(handle);
    return static_cast<double>(now_ns() - begin) / 1e3;
  };
  measurement.first_use_us = open_us();
  measurement.warmup_iterations = 1;
  while (samples.empty() || (samples.size() < policy.max_kept && spent() < policy.limit_s &&
                             (spent() < policy.slot_s || samples.size() < policy.least_samples)))
    samples.push_back(open_us());
  measurement.iterations = samples.size();
  measurement.seconds = spent();
  if (samples.size() < policy.least_samples) measurement.limited = "time limit of a case";
  return measurement;
}

void measure_ipc_open(const GpuRank& rank, const Metric& metric, std::size_t bytes) {
  const bool leads = rank.group.leads();
  const BufferKind opener = leads ? rank.kind : rank.peer_kind;
  const BufferKind owner = leads ? rank.peer_kind : rank.kind;
  if (!on_device(opener) || owner != BufferKind::kDevice || bytes == 0) return;
  std::optional<SlotBuffer> memory;
  std::string why = failure_of(rank.group, [&] {
    if (leads) return;
    memory.emplace(rank.device->memory(owner), bytes, 1);
    rank.own.control().in = ipc_of(*rank.device).export_memory(memory->slot(0));
  });
  CaseResult result;
  result.name = rank.name(metric, bytes, "ipc");
  if (why.empty())
    why = failure_of(rank.group, [&] {
      if (leads)
        result.measurement = open_repeatedly(ipc_of(*rank.device), rank.peer.control().in,
                                             usual_policy(rank.options.common));
    });
  if (!why.empty()) return rank.runner.skip(result.name, why);
  result.samples = result.measurement.samples_us;
  rank.runner.record({result});
}

// The leader's CPU asks, a kernel of the end that has a device answers.
class Flags final : public Sampled {
 public:
  Flags(const GpuRank& rank, bool kernel_here)
      : shared_((kernel_here ? rank.own : rank.peer).control()),
        leads_(rank.group.leads()),
        wait_(rank.group.wait()) {
    if (!kernel_here) return;
    kernel_ = motion_of(rank).kernel("answer_flags");
    registered_ = registration_of(*rank.device).register_memory(&shared_, sizeof(shared_));
    stream_ = rank.device->new_stream();
    // Once for nothing, so that it is loaded: that may wait for kernels that do not end.
    asked().tell(kStop);
    launch();
    stream_->synchronize();
    asked().tell(0);
    answered().tell(0);
    launch();
  }
  ~Flags() override {
    if (!stream_) return;
    asked().tell(kStop);
    try {
      stream_->synchronize();
    } catch (const std::exception&) {  // a broken context has said so before
    }
  }
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  void run(std::uint64_t n) override {
    if (!leads_) return;
    for (std::uint64_t i = 0; i < n; ++i) {
      asked().tell(++round_);
      std::uint64_t looks = 0;
      const std::int64_t begin = now_ns();
      wait_until(wait_, [&] {
        if (++looks % 4096 == 0 && now_ns() - begin > static_cast<std::int64_t>(2 * kPatienceNs))
          throw std::runtime_error("the kernel that answers flags has given up");
        return answered().told() == round_;
      });
    }
  }

 private:
  static constexpr std::uint64_t kStop = ~std::uint64_t{0};

  // No transport uses them while facts are measured.
  Counter& asked() const { return shared_.posted; }
  Counter& answered() const { return shared_.taken; }

  void launch() {
    auto* const base = static_cast<char*>(registered_->on_device());
    const void* const asked = base + offsetof(GpuMemory::Control, posted);
    const void* const answered = base + offsetof(GpuMemory::Control, taken);
    kernel_->launch({.blocks = 1, .threads = 1}, {&asked, &answered, &kPatienceNs}, *stream_);
  }

  GpuMemory::Control& shared_;  // of the end with the kernel
  const bool leads_;
  const Wait wait_;
  std::uint64_t round_ = 0;
  std::unique_ptr<RegisteredMemory> registered_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
};

void measure_flag_latency(const GpuRank& rank, const Metric& metric, std::size_t) {
  // Of the leader if it has a device.
  const bool kernel_here =
      on_device(rank.kind) && (rank.group.leads() || !on_device(rank.peer_kind));
  const CaseName name = rank.name(metric, sizeof(std::uint64_t), "kernel");
  std::optional<Flags> flags;
  const std::string why = failure_of(rank.group, [&] { flags.emplace(rank, kernel_here); });
  if (!why.empty()) return rank.runner.skip(name, why);
  rank.runner.measure(name, 1, *flags, [](double us) { return us / 2; });
}

// One end of messages that go to and fro between kernels on two GPUs.
class Passing {
 public:
  static constexpr std::uint64_t kMostSamples = 257;

  Passing(const GpuRank& rank, std::size_t bytes)
      : rank_(rank),
        out_(rank.device->memory(BufferKind::kDevice), bytes, 1),
        in_(out_.memory(), bytes, 1),
        box_(out_.memory(), (bytes + 7) / 8 * 16, 1),
        times_(rank.device->memory(BufferKind::kPinned), kMostSamples * sizeof(std::uint64_t), 1),
        kernel_(motion_of(rank).kernel("pass_messages")),
        stream_(rank.device->new_stream()),
        seed_(payload_seed(rank.group.rank(), bytes)),
        peer_seed_(payload_seed(1 - rank.group.rank(), bytes)) {
    out_.fill({seed_});
    rank.own.control().in = ipc_of(*rank.device).export_memory(box_.slot(0));
  }

  void open() {
    peer_ = ipc_of(*rank_.device).open(rank_.peer.control().in);
    // Loaded before kernels wait for each other: without a sample nothing is waited for.
    launch(0, 0);
    stream_->synchronize();
  }

  // Before the other end lets go of the memory.
  void close() { peer_.reset(); }

  // Both ends, before either runs.
  void reset() {
    const std::vector<char> none(box_.layout().stride);
    rank_.device->copy(box_.slot(0), none.data(), none.size());
    in_.poison(peer_seed_);
    std::memset(times_.slot(0), 0, times_.layout().bytes);
  }

  // Nanoseconds of each sample. Throws AcceleratorError where the other's kernel was not heard.
  std::vector<std::uint64_t> run(std::uint64_t rounds, std::uint64_t samples) {
    launch(rounds, samples);
    stream_->synchronize();
    std::vector<std::uint64_t> times(samples);
    std::memcpy(times.data(), times_.slot(0), samples * sizeof(std::uint64_t));
    if (times.back() == 0)
      throw AcceleratorError("no message came from the kernel on the other GPU");
    return times;
  }

  std::optional<Mismatch> wrong() const { return in_.find_mismatch({peer_seed_}); }

 private:
  void launch(std::uint64_t rounds, std::uint64_t samples) {
    constexpr std::uint64_t kMostThreads = 512;
    const void* const peer_box = peer_->data();
    const void* const box = box_.slot(0);
    const void* const out = out_.slot(0);
    const void* const in = in_.slot(0);
    const void* const times = times_.slot(0);
    const std::uint64_t bytes = in_.layout().bytes;
    const std::uint64_t leads = rank_.group.leads() ? 1 : 0;
    const std::uint64_t warps = ((bytes + 7) / 8 + 31) / 32;
    const auto threads = static_cast<unsigned>(std::min(warps * 32, kMostThreads));
    kernel_->launch(
        {.blocks = 1, .threads = threads},
        {&peer_box, &box, &out, &in, &bytes, &rounds, &samples, &leads, &kPatienceNs, &times},
        *stream_);
  }

  const GpuRank& rank_;
  SlotBuffer out_;
  SlotBuffer in_;
  SlotBuffer box_;
  SlotBuffer times_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  const std::uint64_t seed_;
  const std::uint64_t peer_seed_;
  std::unique_ptr<OpenedMemory> peer_;
};

void measure_device_latency(const GpuRank& rank, const Metric& metric, std::size_t bytes) {
  // Of nothing no kernel would wait; and those of two processes do not run on one GPU at a time.
  if (rank.kind != BufferKind::kDevice || rank.peer_kind != BufferKind::kDevice || bytes == 0 ||
      bytes > kLargestPassed || rank.own.control().uuid == rank.peer.control().uuid)
    return;
  Group& group = rank.group;
  const CommonOptions& common = rank.options.common;
  const CaseName name = rank.name(metric, bytes, "kernel");
  const std::int64_t begin = now_ns();
  std::optional<Passing> passing;
  std::string why;
  bool right = true;
  // A step that both make, unless one of them could not make the one before.
  const auto step = [&](const auto& action) {
    if (why.empty()) why = failure_of(group, action);
  };
  std::vector<std::uint64_t> times;
  const auto pass = [&](std::uint64_t rounds, std::uint64_t samples) {
    step([&] { passing->reset(); });
    step([&] { times = passing->run(rounds, samples); });
    if (why.empty() && common.verify) right = rank.runner.right(name, passing->wrong());
    return why.empty() && right;
  };
  step([&] { passing.emplace(rank, bytes); });
  step([&] { passing->open(); });
  std::uint64_t rounds = 0;
  // The first sample begins before the other GPU does.
  if (pass(kPassedTrial, 2)) {
    const double trial_us = std::max(1.0, static_cast<double>(times.back()) / 1e3);
    const double wanted = std::ceil(kPassedSampleUs / trial_us * static_cast<double>(kPassedTrial));
    rounds = group.broadcast(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted)));
    const double fit = common.slot_ms * 1e3 / kPassedSampleUs;
    const std::uint64_t most = Passing::kMostSamples - 1;
    pass(rounds, 1 + std::clamp(static_cast<std::uint64_t>(std::min(fit, 1e6)),
                                std::min(common.least_samples, most), most));
  }
  if (passing) passing->close();
  group.barrier();  // nobody's memory goes while another still has it open
  if (!why.empty()) return rank.runner.skip(name, why);
  if (!right) return;
  CaseResult result;
  result.name = name;
  result.verified = common.verify;
  for (std::size_t i = 1; i < times.size(); ++i)
    result.samples.push_back(static_cast<double>(times[i]) / 1e3 / static_cast<double>(2 * rounds));
  result.measurement.batch = rounds;
  result.measurement.iterations = rounds * (times.size() - 1);
  result.measurement.warmup_iterations = rounds + 2 * kPassedTrial;
  result.measurement.seconds = static_cast<double>(now_ns() - begin) / 1e9;
  rank.runner.record({result});
}

using Measure = void(const GpuRank&, const Metric&, std::size_t);

GpuFact fact(const char* name, Measure* measure, bool sized) {
  return {.metric = {name, "us", "lower"},
          .measure =
              [measure](const GpuRank& rank, const Metric& metric, std::size_t bytes) {
                if (rank.group.size() == 2) measure(rank, metric, bytes);
              },
          .sized = sized};
}

const RegisterGpuFact ipc_open(fact("ipc_open", measure_ipc_open, true));
const RegisterGpuFact flag_latency(fact("flag_latency", measure_flag_latency, false));
const RegisterGpuFact device_latency(fact("device_latency", measure_device_latency, true));

}  // namespace
}  // namespace nearpeak
