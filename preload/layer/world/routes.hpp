// SPDX-License-Identifier: Apache-2.0
// Which way messages of each length went, for a report that tells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace nearpeak::layer {

enum class End { kSent, kInto, kFrom };  // of a device: sent, received into one, received from one
// kOverDevice: as far as its sender, from a copy on the device.
enum class Route { kDirectly, kGathered, kPieces, kAside, kThroughHost, kParts, kOverDevice };
enum class By { kEngine, kKernel, kOther };  // who copies: a copy engine, a kernel, another rank

class Routes {
 public:
  // One message of so many bytes.
  void note(End end, Route route, By by, std::size_t bytes);
  // A line for each end and power of two of the length, with how many went each way.
  std::vector<std::string> lines() const;

 private:
  // By end and the bytes at most, then by route.
  std::map<std::tuple<End, std::size_t>, std::map<std::tuple<Route, By>, std::uint64_t>> all_;
};

}  // namespace nearpeak::layer
