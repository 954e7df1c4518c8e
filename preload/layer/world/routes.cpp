// SPDX-License-Identifier: Apache-2.0
#include "layer/world/routes.hpp"

#include <bit>

namespace nearpeak::layer {
namespace {

const char* words(End end) {
  if (end == End::kSent) return "sent from a device";
  return end == End::kInto ? "received into a device" : "received from a device";
}

const char* words(By by) {
  if (by == By::kKernel) return ", copied by a kernel";
  return by == By::kOther ? ", copied by another rank" : ", copied by the copy engine";
}

// Of which it is told who copies.
bool is_one_copy(Route route) {
  return route == Route::kDirectly || route == Route::kThroughHost || route == Route::kOverDevice;
}

std::string words(Route route, By by) {
  if (route == Route::kGathered) return "directly, gathered with others";
  if (route == Route::kPieces) return "in pieces";
  if (route == Route::kParts) return "in parts";
  if (route == Route::kAside) return "set aside";
  const char* const way = route == Route::kDirectly      ? "directly"
                          : route == Route::kThroughHost ? "through host memory"
                                                         : "staged on the device";
  return way + std::string(words(by));
}

}  // namespace

void Routes::note(End end, Route route, By by, std::size_t bytes) {
  if (!is_one_copy(route)) by = By::kEngine;
  ++all_[{end, std::bit_ceil(bytes)}][{route, by}];
}

std::vector<std::string> Routes::lines() const {
  std::vector<std::string> lines;
  for (const auto& [of, routes] : all_) {
    const auto& [end, bytes] = of;
    std::string line = std::string(words(end)) + ", at most " + std::to_string(bytes) + " bytes: ";
    bool first = true;
    for (const auto& [route, times] : routes) {
      line += (first ? "" : "; ") + std::to_string(times) + " " +
              words(std::get<Route>(route), std::get<By>(route));
      first = false;
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace nearpeak::layer
