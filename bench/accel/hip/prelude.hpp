// SPDX-License-Identifier: Apache-2.0
// What the kernels of accel/kernels/ use, in HIP C++, as accel/cuda/prelude.hpp has it in CUDA C++.
#pragma once

namespace nearpeak::hip {

// The compiler is told NEARPEAK_WARP, the lanes of a wavefront (64 or 32), and NEARPEAK_CLOCK_KHZ,
// the rate of wall_clock64().
extern const char* const kPrelude;

}  // namespace nearpeak::hip
