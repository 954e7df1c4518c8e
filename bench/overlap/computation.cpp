// SPDX-License-Identifier: Apache-2.0
#include "overlap/computation.hpp"

#include <algorithm>
#include <vector>

#include "overlap/timed.hpp"

namespace nearpeak {
namespace {

constexpr const char* kCompute = "compute";
constexpr const char* kTests = "tests";
constexpr std::uint64_t kFewestSteps = 16;  // tens of nanoseconds
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 40;
constexpr double kTestEveryUs = 10;
constexpr std::uint64_t kFewestTests = 4;
constexpr int kTrials = 3;
constexpr unsigned kThreads = 256;  // of a block: enough to keep the arithmetic units busy

// Written so that no compiler drops what leads to it.
volatile double sink = 0;
volatile double one = 1;  // of which no compiler knows that it is

// As kernels::kArithmetic.
void compute_on_cpu(std::uint64_t steps) {
  const double shift = one / 1024, scale = one - shift;
  double a = sink, b = a + shift, c = b + shift, d = c + shift;
  for (std::uint64_t i = 0; i < steps; ++i) {
    a = a * scale + shift;
    b = b * scale + shift;
    c = c * scale + shift;
    d = d * scale + shift;
  }
  sink = (a + b + c + d) / 4;
}

// So many that action(steps) takes `target_us` on the slowest rank, or the fewest. Collective.
template <class Action>
std::uint64_t steps_for(Group& group, double target_us, double most_us, Action action) {
  const Patience patience(group, most_us);
  std::uint64_t steps = kFewestSteps;
  double us = slowest_us(group, kTrials, patience, [&] { action(steps); });
  if (us >= target_us) return steps;
  double fewer_us = us;
  while (us < target_us && steps < kMostSteps && patience.lasts()) {
    steps *= 2;
    fewer_us = us;
    us = slowest_us(group, kTrials, patience, [&] { action(steps); });
  }
  if (us < target_us)
    return static_cast<std::uint64_t>(
        std::min(target_us / us * static_cast<double>(steps), static_cast<double>(kMostSteps)));
  const double share = (target_us - fewer_us) / (us - fewer_us);
  const std::uint64_t fewer = steps / 2;
  return fewer + static_cast<std::uint64_t>(share * static_cast<double>(fewer));
}

// One block on each multiprocessor, so that there is room for kernels of others.
std::unique_ptr<DeviceWork> device_work(const CaseContext& context) {
  if (!computes_on_device(context)) return nullptr;
  return std::make_unique<DeviceWork>(*context.device,
                                      context.device->kernels()->multiprocessors());
}

}  // namespace

DeviceWork::DeviceWork(Device& device, unsigned blocks)
    : shape_{.blocks = blocks, .threads = kThreads},
      // A library's kernels do not wait for its blocks.
      stream_(device.new_background_stream()),
      kernel_(device.kernels()->arithmetic().kernel("compute")),
      sums_(device.memory(BufferKind::kDevice), shape_.blocks * kThreads * sizeof(std::uint32_t),
            1),
      times_(device.memory(BufferKind::kDevice), 2 * shape_.blocks * sizeof(std::uint64_t), 1) {}

void DeviceWork::begin(std::uint64_t steps) {
  void* const sums = sums_.slot(0);
  void* const times = times_.slot(0);
  const std::uint64_t multiplier = 1;
  kernel_->launch(shape_, {&sums, &steps, &multiplier, &times}, *stream_);
}

double DeviceWork::own_us() const {
  std::vector<std::uint64_t> times(2 * shape_.blocks);
  times_.memory().to_host(times.data(), times_.slot(0), times.size() * sizeof(times[0]));
  std::uint64_t first = times[0];
  std::uint64_t last = times[1];
  for (std::size_t i = 0; i < times.size(); i += 2) {
    first = std::min(first, times[i]);
    last = std::max(last, times[i + 1]);
  }
  return static_cast<double>(last - first) / 1e3;
}

Computation::Computation(const CaseContext& context)
    : on_cpu_(context.axis(kCompute) != "gpu"),
      tests_(context.axis(kTests) == "some"),
      device_(device_work(context)),
      cpu_steps_(on_cpu_ ? kFewestSteps : 0),
      device_steps_(device_ != nullptr ? kFewestSteps : 0) {}

void Computation::fit(Group& group, double target_us, double most_us) {
  if (on_cpu_) {
    cpu_steps_ = steps_for(group, target_us, most_us, compute_on_cpu);
    const auto pieces = static_cast<std::uint64_t>(target_us / kTestEveryUs);
    if (tests_) pieces_ = std::min(cpu_steps_, std::max(kFewestTests, pieces));
  }
  if (device_ != nullptr)
    device_steps_ = steps_for(group, target_us, most_us, [this](std::uint64_t steps) {
      device_->begin(steps);
      wait(nullptr);
    });
}

void Computation::run(Communication* beside) {
  if (device_ != nullptr) device_->begin(device_steps_);
  if (on_cpu_) compute(beside);
  if (device_ != nullptr) wait(beside);
}

void Computation::compute(Communication* beside) const {
  std::uint64_t done = 0;
  for (std::uint64_t piece = 1; piece <= pieces_; ++piece) {
    const std::uint64_t until = cpu_steps_ * piece / pieces_;
    compute_on_cpu(until - done);
    done = until;
    if (beside != nullptr && tests_) beside->test();
  }
}

// Whoever tests asks the device in between, and does so too where nothing goes on beside.
void Computation::wait(Communication* beside) {
  if (!tests_) return device_->finish();
  while (!device_->finished())
    if (beside != nullptr) beside->test();
}

bool computes_on_device(const CaseContext& context) { return context.axis(kCompute) != "cpu"; }

std::string why_no_device_work(const CaseContext& context) {
  if (context.device == nullptr)
    return "a kernel needs a device on each rank, and rank " +
           std::to_string(context.group.rank()) + " has none: see --buffers and --devices";
  if (std::string why = why_no_kernels(*context.device); !why.empty()) return why;
  try {
    context.device->kernels()->arithmetic();
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "";
}

Axis compute_axis() {
  return {kCompute,
          {"cpu", "gpu", "both"},
          "what computes beside the communication: the CPU of each rank, its device, or both"};
}

Axis tests_axis() {
  return {kTests,
          {"none", "some"},
          "some: MPI_Test is called during the computation: after each 10 us of the CPU's work, "
          "and each time that the device is asked whether it is done"};
}

}  // namespace nearpeak
