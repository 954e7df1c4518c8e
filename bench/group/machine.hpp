// SPDX-License-Identifier: Apache-2.0
// Identifies the machines and the clocks of ranks.
#pragma once

#include <string>

namespace nearpeak {

// The same in all containers of a machine, and on no other machine, unlike the host's name: of its
// boot, or the name where that cannot be read. `root`: where /proc is.
std::string machine_key(const std::string& root = "");

// Of the monotonic clock: processes with the same key read the same time.
std::string clock_key(const std::string& root = "");

}  // namespace nearpeak
