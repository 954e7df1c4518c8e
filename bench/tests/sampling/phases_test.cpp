// SPDX-License-Identifier: Apache-2.0
#include "sampling/phases.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;

TEST_CASE("phases add up until they are cleared, and have no time but in laps") {
  Phases phases({"first", "second"});
  CHECK(phases.names() == std::vector<std::string>{"first", "second"});
  phases.add(1, 2);
  phases.add(1, 3);
  CHECK(phases.ns() == std::vector<double>{0, 5});
  phases.start();
  phases.lap(0);
  CHECK(phases.ns()[0] >= 0);
  CHECK(phases.ns()[1] == 5);
  phases.clear();
  CHECK(phases.ns() == std::vector<double>{0, 0});
}

TEST_CASE("where there are no phases laps do nothing") {
  Phases none;
  none.start();
  none.lap(3);
  CHECK(none.count() == 0);
}
