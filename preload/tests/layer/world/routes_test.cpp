// SPDX-License-Identifier: Apache-2.0
#include "layer/world/routes.hpp"

#include <doctest/doctest.h>

using nearpeak::layer::By;
using nearpeak::layer::End;
using nearpeak::layer::Route;
using nearpeak::layer::Routes;

TEST_CASE("routes: lengths are told by powers of two, and each route of them") {
  Routes routes;
  CHECK(routes.lines().empty());
  for (const std::size_t bytes : {65u, 100u, 128u})
    routes.note(End::kInto, Route::kDirectly, By::kKernel, bytes);
  routes.note(End::kInto, Route::kDirectly, By::kEngine, 128);
  routes.note(End::kInto, Route::kAside, By::kOther, 129);
  routes.note(End::kInto, Route::kAside, By::kKernel, 256);
  routes.note(End::kFrom, Route::kPieces, By::kEngine, 1 << 20);
  routes.note(End::kSent, Route::kThroughHost, By::kOther, 0);
  routes.note(End::kSent, Route::kParts, By::kEngine, 4);
  routes.note(End::kSent, Route::kOverDevice, By::kKernel, 8);
  const std::vector<std::string> expected{
      "sent from a device, at most 1 bytes: 1 through host memory, copied by another rank",
      "sent from a device, at most 4 bytes: 1 in parts",
      "sent from a device, at most 8 bytes: 1 staged on the device, copied by a kernel",
      "received into a device, at most 128 bytes: 1 directly, copied by the copy engine; 3 "
      "directly, copied by a "
      "kernel",
      "received into a device, at most 256 bytes: 2 set aside",
      "received from a device, at most 1048576 bytes: 1 in pieces"};
  CHECK(routes.lines() == expected);
}
