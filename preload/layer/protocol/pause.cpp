// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/pause.hpp"

#include <sched.h>

namespace nearpeak::layer {

void Pause::operator()() {
  constexpr int kBefore = 200;
  if (++tries_ > kBefore) sched_yield();
}

}  // namespace nearpeak::layer
