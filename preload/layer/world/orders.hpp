// SPDX-License-Identifier: Apache-2.0
// What a rank asks of the one that moves for all of its GPU (turns.hpp), in memory that both share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "layer/copy/exported.hpp"

namespace nearpeak::layer {

// Memory of a device, for any process of the machine.
struct OrderMemory {
  std::uint32_t rank = 0;     // that has it,
  std::uint64_t address = 0;  // where it calls it so
  std::uint64_t allocation = 0;
  std::uint64_t offset = 0;  // in its allocation
  Exported handle;
};

// A rank has one, of which it alone makes kFree kAsked, and anything kFree again. Of kAsked either
// the mover makes kTaken, or who asked kFree: one atomic step says who copies. kTaken ends soon, as
// the mover does nothing else then.
struct alignas(64) Order {
  enum class Stage : std::uint32_t { kFree, kAsked, kTaken, kDone, kRefused };
  // To or from the room beside the order, or between devices.
  enum class Way : std::uint32_t { kDown, kUp, kAcross };

  std::atomic<Stage> state{Stage::kFree};
  Way way = Way::kDown;
  std::uint32_t mover = 0;  // who is asked
  std::uint64_t bytes = 0;
  OrderMemory from;  // but with kUp
  OrderMemory to;    // but with kDown
};

// Beside an order, for what comes from the host or goes there.
constexpr std::size_t kOrderRoom = std::size_t{1} << 20;

}  // namespace nearpeak::layer
