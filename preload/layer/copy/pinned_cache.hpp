// SPDX-License-Identifier: Apache-2.0
// Host memory of the application that the driver has pinned, so that devices copy from and to it as
// fast as their link allows. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "layer/copy/devices.hpp"
#include "layer/copy/watch.hpp"

namespace nearpeak::layer {

// The whole pages within.
Range pages_within(const Range& bytes);

class PinnedCache {
 public:
  explicit PinnedCache(Devices& devices) : devices_(devices) {}

  // What of these bytes is pinned, by the application or by keep(); all whole pages, or nothing.
  Range part_of(const Range& bytes);
  // Whether the application has pinned all of them: they stay so, whatever keep() and the kernel
  // do.
  bool is_pinned_by_application(const Range& bytes);
  // Notes that a message uses these bytes. Whether one did before, while they were there.
  bool used(const Range& bytes);
  // Pins them, where that can be done and is safe.
  void keep(int device, const Range& bytes);
  // What a device has pinned that was reset is not pinned any more.
  void forget(int device);
  void end();

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  static constexpr std::size_t kMostUsed = 4096;
  static constexpr std::uint64_t kLong = 256;  // uses of others, after which one may go for another
  static constexpr int kRefused = -1;

  struct Pinned {
    Range pages;
    int device = 0;
    std::unique_ptr<RegisteredMemory> memory;
    std::uint64_t last = 0;  // its use
  };
  using AllPinned = std::map<char*, Pinned>;  // by the end of their pages

  AllPinned::const_iterator pinned_with(const Range& pages) const;
  void drop(AllPinned::iterator each);
  void drop_gone();
  void drop_for(std::size_t bytes);

  Devices& devices_;
  Watch watch_;
  AllPinned pinned_;
  std::size_t bytes_ = 0;                                    // that are pinned
  std::uint64_t uses_ = 0;                                   // of all
  std::map<std::pair<char*, std::size_t>, int> used_bytes_;  // how often, or kRefused
};

}  // namespace nearpeak::layer
