// SPDX-License-Identifier: Apache-2.0
// The buffers of a benchmark that has a window of messages in flight.
#pragma once

#include <vector>

#include "mpi/benchmark.hpp"

namespace nearpeak {

// One buffer per message of the window, so that no two messages in flight share one; with rotating
// reuse, several windows of them in turn.
class WindowCase : public Case {
 public:
  WindowCase(const CaseContext& context, bool sends, bool receives)
      : Case(context),
        windows_(context.rotating()
                     ? rotating_windows(context.size_bytes, context.window, context.cache_bytes)
                     : 1),
        out_(context.memory, sends ? context.size_bytes : 0, slots(), context.offset),
        in_(context.memory, receives ? context.size_bytes : 0, slots(), context.offset),
        receives_(receives) {
    out_.fill_pattern(context.seed(context.rank));
    in_.fill_inverse(context.seed(peer()));
  }

  std::uint64_t cycle() const final { return windows_; }
  std::uint64_t window() const final { return context_.window; }

  std::optional<Mismatch> verify() final {
    in_.fill_inverse(context_.seed(peer()));
    first_ = 0;
    iterate(windows_);
    return receives_ ? in_.find_mismatch(context_.seed(peer())) : std::nullopt;
  }

 protected:
  static constexpr int kAckTag = 2;

  int peer() const { return 1 - context_.rank; }
  int bytes() const { return static_cast<int>(context_.size_bytes); }
  char* out(std::uint64_t message) const { return out_.slot(first_ + message); }
  char* in(std::uint64_t message) const { return in_.slot(first_ + message); }
  void next_window() {
    first_ += context_.window;
    if (first_ == slots()) first_ = 0;
  }
  // GB/s from the bytes of `messages` messages in `us` microseconds.
  double rate(double us, std::uint64_t messages) const {
    return static_cast<double>(context_.size_bytes) * static_cast<double>(messages) / us / 1e3;
  }

 private:
  std::size_t slots() const { return windows_ * context_.window; }

  std::uint64_t windows_;
  SlotBuffer out_;
  SlotBuffer in_;
  bool receives_;
  std::size_t first_ = 0;
};

}  // namespace nearpeak
