// SPDX-License-Identifier: Apache-2.0
// What a rank asks of the one that moves for all of its GPU (copy_proxy.hpp), in memory that both
// share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "layer/copy/exported.hpp"

namespace nearpeak::layer {

// Memory of a device, for any process of the machine.
struct RequestedMemory {
  std::uint32_t rank = 0;     // that has it,
  std::uint64_t address = 0;  // where it calls it so
  std::uint64_t allocation = 0;
  std::uint64_t offset = 0;  // in its allocation
  Exported handle;
};

// A rank has one, of which it alone makes kFree kAsked, and anything kFree again. Of kAsked either
// the proxy makes kTaken, or who asked kFree: one atomic step says who copies. kTaken ends soon, as
// the proxy does nothing else then.
struct alignas(64) CopyRequest {
  enum class Stage : std::uint32_t { kFree, kAsked, kTaken, kDone, kRefused };
  // To or from the room beside the request, or between devices.
  enum class Way : std::uint32_t { kToHost, kToDevice, kBetweenDevices };

  std::atomic<Stage> state{Stage::kFree};
  Way way = Way::kToHost;
  std::uint32_t proxy = 0;  // who is asked
  std::uint64_t bytes = 0;
  RequestedMemory from;  // but with kToDevice
  RequestedMemory to;    // but with kToHost
};

// Beside a request, for what comes from the host or goes there.
constexpr std::size_t kCopyRequestRoom = std::size_t{1} << 20;

}  // namespace nearpeak::layer
