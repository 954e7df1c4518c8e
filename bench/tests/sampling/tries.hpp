// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

// Whether it is so in one of `tries`: other programs that take the CPU may keep it from being so.
inline bool is_so_once(const std::function<bool()>& is_so, int tries = 20) {
  for (int i = 0; i < tries; ++i)
    if (is_so()) return true;
  return false;
}
