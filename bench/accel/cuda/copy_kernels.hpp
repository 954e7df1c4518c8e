// SPDX-License-Identifier: Apache-2.0
// Kernels that move data: those of Device::motion_kernels(). Correct for every shape of launch that
// their contract allows.
#pragma once

namespace nearpeak::cuda {

extern const char* const kCopyKernels;

}  // namespace nearpeak::cuda
