// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sampling/clock.hpp"

namespace nearpeak {

// Parts of what is run, by name, and what they took since clear(), in nanoseconds. Those that
// follow each other are timed by laps, for which no clock is read where there are none.
class Phases {
 public:
  Phases() = default;
  explicit Phases(std::vector<std::string> names) : names_(std::move(names)), ns_(names_.size()) {}

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<double>& ns() const { return ns_; }
  std::size_t count() const { return ns_.size(); }

  void clear() { std::fill(ns_.begin(), ns_.end(), 0.0); }
  void add(std::size_t phase, double ns) { ns_[phase] += ns; }
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

 private:
  std::vector<std::string> names_;
  std::vector<double> ns_;
  std::int64_t mark_ = 0;
};

}  // namespace nearpeak
