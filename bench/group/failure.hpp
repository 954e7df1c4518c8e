// SPDX-License-Identifier: Apache-2.0
// What stops ranks before they measure anything.
#pragma once

#include <functional>
#include <string>

#include "group/group.hpp"

namespace nearpeak {

struct Failure {
  int status = 0;  // the exit status; 0: nothing did
  std::string text;
};

// Why `start` failed, whatever it threw.
Failure failure_in(const std::function<void()>& start);

// The exit status of all where something stopped any of them, which the leader then says.
// Collective.
int settle(const std::string& program, const Failure& mine, Group& group);

}  // namespace nearpeak
