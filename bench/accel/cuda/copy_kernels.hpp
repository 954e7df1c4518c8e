// SPDX-License-Identifier: Apache-2.0
// Kernels that move data and flags: those of Device::motion_kernels(), which says what they do.
#pragma once

namespace nearpeak::cuda {

extern const char* const kCopyKernels;
// Compiled together with those above, which they use.
extern const char* const kFlagKernels;

}  // namespace nearpeak::cuda
