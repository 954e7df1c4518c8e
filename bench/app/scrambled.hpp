// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearpeak {

// Numbers that look drawn, from sums that follow each other. As portable kernels have it
// (accel/kernels/portable.cpp), which says where it is from.
inline std::uint32_t scrambled(std::uint32_t x) {
  x = (x ^ (x >> 15)) * 0x2C1B3C6Du;
  x = (x ^ (x >> 12)) * 0x297A2D39u;
  return x ^ (x >> 15);
}

}  // namespace nearpeak
