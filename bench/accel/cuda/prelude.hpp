// SPDX-License-Identifier: Apache-2.0
// What the kernels of accel/kernels/ use, in CUDA C++. Another vendor's folder has the same for its
// language; where NEARPEAK_PRELUDE is defined all of it is there already.
#pragma once

namespace nearpeak::cuda {

extern const char* const kPrelude;

}  // namespace nearpeak::cuda
