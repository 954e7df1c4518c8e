// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "layer/protocol/advance.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Between two looks at what others say.
class Idle {
 public:
  void operator()() const {
    constexpr unsigned kLooks = 16;
    if (++tries_ % kLooks == 0) {
      const Guard guard;
      if (busy()) advance();
      progress();
    }
    waiting_();
  }

 private:
  mutable unsigned tries_ = 0;
  mutable Waiting waiting_;
};

}  // namespace nearpeak::layer
