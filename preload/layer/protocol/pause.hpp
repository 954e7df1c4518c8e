// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nearpeak::layer {

// Gives way after many tries.
class Pause {
 public:
  void operator()();

 private:
  int tries_ = 0;
};

}  // namespace nearpeak::layer
