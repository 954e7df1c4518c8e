// SPDX-License-Identifier: Apache-2.0
// What the launcher says of the processes that it has started.
#pragma once

#include <string>

namespace nearpeak::layer {

struct Launched {
  int processes = 0;     // 0: it says nothing
  int rank = 0;          // of this one
  std::string variable;  // that says so
};

// By the variables of the launcher: `own`, of the MPI library's, where it is set, else any other.
Launched launched(const std::string& own);

}  // namespace nearpeak::layer
