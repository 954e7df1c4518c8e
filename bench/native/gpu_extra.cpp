// SPDX-License-Identifier: Apache-2.0
// What no MPI benchmark has, but what MPI's times are made of: opening memory, and flags and
// messages that a kernel waits for.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "native/gpu.hpp"

namespace nearpeak {
namespace {

constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // of kernels that wait for a flag
constexpr std::size_t kLargestPassed = 64 << 10;      // bytes: one block carries no more at speed
constexpr double kPassedSampleUs = 200;               // GPU timers may step by 1 us
constexpr std::uint64_t kPassedTrial = 64;  // round trips that foretell how many are timed

Exchange exchange_of(const Metric& metric, Pattern pattern, std::size_t bytes, int rank) {
  return {metric, pattern, bytes, 1, 1, rank};
}

// What `action` fails with, or nothing.
template <class Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const std::bad_alloc& error) {
    return error.what();
  } catch (const AcceleratorError& error) {
    return error.what();
  }
  return "";
}

// The leader's CPU asks, a kernel of the end that has a device answers.
class FlagTransfer final : public Transfer {
 public:
  FlagTransfer(const GpuSide& side, bool kernel_here)
      : flags_(side.memory.control().flags), leads_(side.team.leads()), wait_(side.wait) {
    if (!kernel_here) return;
    registered_ = side.device->register_host(&flags_, sizeof(flags_));
    auto* const base = static_cast<char*>(registered_->on_device());
    asked_ = base + offsetof(GpuMemory::Control::Flags, asked);
    answered_ = base + offsetof(GpuMemory::Control::Flags, answered);
    kernel_ = side.motion->kernel("answer_flags");
    stream_ = side.device->new_stream();
    // Once for nothing, so that it is loaded: that may wait for kernels that do not end.
    flags_.asked.value.store(kStop);
    launch();
    stream_->synchronize();
    flags_.asked.value.store(0);
    flags_.answered.value.store(0);
    launch();
  }
  ~FlagTransfer() override {
    if (!stream_) return;
    flags_.asked.value.store(kStop);
    try {
      stream_->synchronize();
    } catch (const std::exception&) {  // a broken context has said so before
    }
  }
  FlagTransfer(const FlagTransfer&) = delete;
  FlagTransfer& operator=(const FlagTransfer&) = delete;

  void iterate(std::uint64_t n) override {
    if (!leads_) return;
    for (std::uint64_t i = 0; i < n; ++i) {
      flags_.asked.value.store(++round_, std::memory_order_release);
      std::uint64_t looks = 0;
      const std::int64_t begin = now_ns();
      while (flags_.answered.value.load(std::memory_order_acquire) != round_) {
        wait_.once();
        if (++looks % 4096 == 0 && now_ns() - begin > static_cast<std::int64_t>(2 * kPatienceNs))
          throw std::runtime_error("the kernel that answers flags has given up");
      }
    }
  }

 private:
  static constexpr std::uint64_t kStop = ~std::uint64_t{0};

  void launch() { kernel_->launch({1, 1}, {&asked_, &answered_, &kPatienceNs}, *stream_); }

  GpuMemory::Control::Flags& flags_;
  bool leads_;
  Wait wait_;
  std::uint64_t round_ = 0;
  std::unique_ptr<RegisteredMemory> registered_;
  void* asked_ = nullptr;
  void* answered_ = nullptr;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
};

// One end of messages that go to and fro between kernels on two GPUs.
class Passing {
 public:
  Passing(const GpuSide& side, const Exchange& exchange)
      : side_(side),
        exchange_(exchange),
        memory_(side.device->memory(BufferKind::kDevice)),
        out_(memory_, exchange.bytes, 1),
        in_(memory_, exchange.bytes, 2),
        times_(side.device->memory(BufferKind::kPinned), kMostSamples * sizeof(std::uint64_t), 1),
        kernel_(side.motion->kernel("pass_messages")),
        stream_(side.device->new_stream()) {
    out_.fill_pattern(exchange.seed(exchange.rank));
    memory_.fill_inverse(in_.slot(0), exchange.bytes, exchange.seed(exchange.peer()));
    side.memory.control().handles[exchange.rank].in = side.device->ipc_export(in_.slot(0));
  }

  static constexpr std::uint64_t kMostSamples = 257;

  void open() {
    peer_ = side_.device->ipc_open(side_.memory.control().handles[exchange_.peer()].in);
    // Loaded before kernels wait for each other: without a sample nothing is waited for.
    launch(0, 0);
    stream_->synchronize();
  }

  // Before the other end lets go of the memory.
  void close() { peer_.reset(); }

  void reset() {
    const std::uint64_t none = 0;
    side_.device->copy(flag(), &none, sizeof(none));
    std::memset(times_.slot(0), 0, kMostSamples * sizeof(std::uint64_t));
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

  std::optional<Mismatch> wrong() {
    return memory_.find_mismatch(in_.slot(0), exchange_.bytes, exchange_.seed(exchange_.peer()));
  }

 private:
  void* flag() const { return in_.slot(1); }

  void launch(std::uint64_t rounds, std::uint64_t samples) {
    constexpr unsigned kThreads = 512;
    auto* const peer = static_cast<char*>(peer_->data());
    const void* const peer_flag = peer + SlotBuffer::stride(exchange_.bytes);
    const void* const own_flag = flag();
    const void* const out = out_.slot(0);
    const void* const times = times_.slot(0);
    const std::uint64_t bytes = exchange_.bytes;
    const std::uint64_t leads = exchange_.rank == 0 ? 1 : 0;
    const auto words = static_cast<unsigned>(bytes / 16);
    kernel_->launch({1, std::clamp((words + 31) / 32 * 32, 32U, kThreads)},
                    {&peer, &out, &peer_flag, &own_flag, &bytes, &rounds, &samples, &leads,
                     &kPatienceNs, &times},
                    *stream_);
  }

  const GpuSide& side_;
  const Exchange& exchange_;
  Memory& memory_;
  SlotBuffer out_;
  SlotBuffer in_;  // the message, and the flag
  SlotBuffer times_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<OpenedMemory> peer_;
};

}  // namespace

void run_ipc_open(const GpuSide& side, const Metric& metric, std::size_t bytes) {
  if (!on_device(side.kinds[0]) || side.kinds[1] != BufferKind::kDevice || bytes == 0) return;
  const Exchange exchange = exchange_of(metric, Pattern::kAlone, bytes, side.team.rank());
  auto& handle = side.memory.control().handles[1].in;
  const bool leads = side.team.leads();
  std::optional<SlotBuffer> memory;
  std::string why = failure_of([&] {
    if (leads) return;
    memory.emplace(side.device->memory(BufferKind::kDevice), bytes, 1);
    handle = side.device->ipc_export(memory->slot(0));
  });
  why = side.told_reason(why);
  Measurement measurement;
  if (why.empty()) {
    why = failure_of([&] {
      if (!leads) return;
      const SamplingPolicy policy = side.common.policy();
      const std::int64_t start = now_ns();
      const auto spent = [start] { return static_cast<double>(now_ns() - start) / 1e9; };
      auto& samples = measurement.samples_us;
      while (samples.size() < policy.max_kept && spent() < policy.limit_s &&
             (spent() < policy.slot_s || samples.size() < policy.min_samples)) {
        const std::int64_t begin = now_ns();
        const auto opened = side.device->ipc_open(handle);
        const double us = static_cast<double>(now_ns() - begin) / 1e3;
        if (measurement.warmup_iterations++ == 0)
          measurement.first_use_us = us;
        else
          samples.push_back(us);
      }
      measurement.warmup_iterations = 1;
      measurement.iterations = samples.size();
      measurement.seconds = spent();
      if (samples.size() < policy.min_samples) measurement.limited = "time limit of a case";
    });
    why = side.told_reason(why);
  }
  if (!why.empty())
    side.contest.skip(exchange, "ipc", why);
  else if (leads && !measurement.samples_us.empty())
    side.contest.record(exchange, "ipc", measurement);
}

void run_flag_latency(const GpuSide& side, const Metric& metric) {
  const Exchange exchange =
      exchange_of(metric, Pattern::kPingPong, sizeof(std::uint64_t), side.team.rank());
  const int rank = on_device(side.kinds[0]) ? 0 : 1;
  const bool kernel_here = side.team.rank() == rank;
  std::string why = kernel_here && side.motion == nullptr ? side.why_no_kernels : "";
  std::optional<FlagTransfer> transfer;
  if (why.empty()) why = failure_of([&] { transfer.emplace(side, kernel_here); });
  why = side.told_reason(why);
  if (why.empty())
    side.contest.measure(exchange, "kernel", *transfer);
  else
    side.contest.skip(exchange, "kernel", why);
}

void run_device_latency(const GpuSide& side, const Metric& metric, std::size_t bytes) {
  const auto device = BufferKind::kDevice;
  const auto& uuids = side.memory.control().uuids;
  // On one GPU the kernels of two processes do not run at the same time.
  if (side.kinds != BufferKinds{device, device} || bytes > kLargestPassed ||
      std::strcmp(uuids[0].data(), uuids[1].data()) == 0)
    return;
  const Exchange exchange = exchange_of(metric, Pattern::kPingPong, bytes, side.team.rank());
  const bool leads = side.team.leads();
  std::optional<Passing> passing;
  // A step that both make, unless one of them could not make the one before.
  std::string why;
  const auto step = [&](const std::function<void()>& action) {
    if (why.empty()) why = side.told_reason(failure_of(action));
  };
  step([&] {
    if (side.motion == nullptr) throw AcceleratorError(side.why_no_kernels);
    passing.emplace(side, exchange);
  });
  step([&] { passing->open(); });
  step([&] { passing->reset(); });
  std::uint64_t rounds = kPassedTrial;
  std::uint64_t samples = 2;  // the first begins before the other GPU does
  std::vector<std::uint64_t> times;
  step([&] { times = passing->run(rounds, samples); });
  const std::int64_t begin = now_ns();
  if (why.empty()) {
    if (side.common.verify && !side.contest.right(exchange, "kernel", passing->wrong())) {
      passing->close();
      side.team.agree(0);
      return;
    }
    const double trial_us = std::max(1.0, static_cast<double>(times.back()) / 1e3);
    const double wanted = std::ceil(kPassedSampleUs / trial_us * static_cast<double>(kPassedTrial));
    rounds = side.team.agree(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted)));
    const double fit = side.common.slot_ms * 1e3 / kPassedSampleUs;
    samples = side.team.agree(
        std::clamp<std::uint64_t>(static_cast<std::uint64_t>(fit),
                                  std::min(side.common.min_samples, Passing::kMostSamples - 1),
                                  Passing::kMostSamples - 1) +
        1);
  }
  step([&] { passing->reset(); });
  step([&] { times = passing->run(rounds, samples); });
  if (passing) passing->close();
  side.team.agree(0);
  if (!why.empty()) return side.contest.skip(exchange, "kernel", why);
  if (!leads) return;
  Measurement measurement;
  for (std::size_t i = 1; i < times.size(); ++i)
    measurement.samples_us.push_back(static_cast<double>(times[i]) / 1e3 /
                                     static_cast<double>(rounds));
  measurement.batch = rounds;
  measurement.iterations = rounds * (samples - 1);
  measurement.warmup_iterations = rounds + 2 * kPassedTrial;
  measurement.seconds = static_cast<double>(now_ns() - begin) / 1e9;
  side.contest.record(exchange, "kernel", measurement);
}

}  // namespace nearpeak
