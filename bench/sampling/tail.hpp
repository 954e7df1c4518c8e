// SPDX-License-Identifier: Apache-2.0
// The times of all iterations of a case, of which samples are but a part: what of a thousand the
// slowest takes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nearpeak {

// Counts times by their length, in buckets that are 1/64 of it wide at most. Adding one takes a few
// nanoseconds and no memory. As in HdrHistogram (hdrhistogram.org).
class Tail {
 public:
  void add(std::int64_t ns) {
    ++counts_[bucket(ns)];
    ++count_;
    if (ns > longest_ns_) longest_ns_ = ns;
  }

  std::uint64_t count() const { return count_; }
  double longest_us() const { return static_cast<double>(longest_ns_) / 1e3; }

  // The middle of the bucket that holds this quantile (the inverse of the empirical distribution),
  // and no longer than the longest; 0 where nothing was added.
  double quantile_us(double fraction) const {
    const double wanted = fraction * static_cast<double>(count_);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      below += counts_[i];
      if (below > 0 && static_cast<double>(below) >= wanted)
        return std::min(middle_ns(i) / 1e3, longest_us());
    }
    return 0;
  }

 private:
  static constexpr unsigned kBits = 6;  // of a bucket's number within a power of two
  static constexpr std::size_t kPerPower = std::size_t{1} << kBits;

  // Those below kPerPower have a bucket each.
  static std::size_t bucket(std::int64_t ns) {
    const auto value = static_cast<std::uint64_t>(ns < 0 ? 0 : ns);
    if (value < kPerPower) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return (shift + 1) * kPerPower + ((value >> shift) - kPerPower);
  }

  static double middle_ns(std::size_t bucket) {
    if (bucket < kPerPower) return static_cast<double>(bucket);
    const std::size_t shift = bucket / kPerPower - 1;
    const std::uint64_t first = (kPerPower + bucket % kPerPower) << shift;
    return static_cast<double>(first) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
  }

  std::array<std::uint32_t, (64 - kBits) * kPerPower> counts_{};
  std::uint64_t count_ = 0;
  std::int64_t longest_ns_ = 0;
};

}  // namespace nearpeak
