// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sampling/clock.hpp"

namespace nearpeak {

// Of computation that kernels do while messages are on their way: for how long the CPU does nothing
// but wait for it.
inline constexpr const char* kExposedCompute = "exposed compute";

// What the parts of iterations take, one after the other. It reads no clock where it has none.
class PhaseClock {
 public:
  explicit PhaseClock(std::vector<std::string> names)
      : names_(std::move(names)), ns_(names_.size()) {}

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& ns() const { return ns_; }  // since clear()
  void clear() { std::fill(ns_.begin(), ns_.end(), 0.0); }

  void start() {
    if (!ns_.empty()) mark_ = now_ns();
  }
  // Since start() or the lap before.
  void lap(std::size_t phase) {
    if (ns_.empty()) return;
    const std::int64_t now = now_ns();
    ns_[phase] += static_cast<double>(now - mark_);
    mark_ = now;
  }
  // Of one of so many parts that an iteration has.
  void divide(double parts) {
    for (double& ns : ns_) ns /= parts;
  }

 private:
  const std::vector<std::string> names_;
  std::vector<double> ns_;
  std::int64_t mark_ = 0;
};

}  // namespace nearpeak
