// SPDX-License-Identifier: Apache-2.0
// Work for a CPU, for a device or for both at once, of any length. It is arithmetic in registers:
// neither the memory nor the caches have a part in it (docs/methods/statistics.md).
#pragma once

#include <cstdint>
#include <memory>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// What goes on meanwhile.
class Communication {
 public:
  virtual ~Communication() = default;
  virtual void begin() = 0;
  virtual void test() = 0;  // MPI_Test; nothing where it is complete
  virtual void finish() = 0;
};

// Work for a device, in order on a stream of its own.
class DeviceWork {
 public:
  DeviceWork(Device& device, unsigned blocks);

  void begin(std::uint64_t steps);
  bool finished() { return stream_->finished(); }
  void finish() { stream_->synchronize(); }
  Stream& stream() { return *stream_; }
  // From the beginning of its first block to the end of its last one, by the device's clock; once
  // the work is done.
  double own_us() const;

 private:
  const LaunchShape shape_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Kernel> kernel_;
  const SlotBuffer sums_;
  const SlotBuffer times_;
};

class Computation {
 public:
  // As the axes `compute` and `tests` say. Throws AcceleratorError.
  explicit Computation(const CaseContext& context);

  bool on_device() const { return device_ != nullptr; }
  // Makes each part of it as long as `target_us`, or as its shortest, on the slowest rank; all
  // ranks do the same work. Where to try as much of a part would take longer than about `most_us`,
  // less of it tells. Collective.
  void fit(Group& group, double target_us, double most_us);
  // All of it. Tests `beside`, if there is one, as the axis says.
  void run(Communication* beside);
  double device_us() const { return device_->own_us(); }

 private:
  void compute(Communication* beside) const;
  void wait(Communication* beside);

  const bool on_cpu_;
  const bool tests_;
  std::unique_ptr<DeviceWork> device_;
  std::uint64_t cpu_steps_;
  std::uint64_t pieces_ = 1;  // of the CPU's work, after each of which it tests
  std::uint64_t device_steps_;
};

// Why the device of this rank cannot compute; empty where it can.
std::string why_no_device_work(const CaseContext& context);

// As the axis `compute` says.
bool computes_on_device(const CaseContext& context);

Axis compute_axis();
Axis tests_axis();

}  // namespace nearpeak
