// SPDX-License-Identifier: Apache-2.0
// Kernels that fill and verify the pattern of payload/pattern.hpp. All are correct for every shape
// of launch.
//   fill(target, bytes, seed, flip)           flip: 0, or all ones for the inverse
//   find_mismatch(data, bytes, seed, first)   *first becomes the smaller of itself and the index of
//                                             the first wrong byte
// Every argument is 64 bits wide.
#pragma once

namespace nearpeak::cuda {

extern const char* const kPatternKernels;

}  // namespace nearpeak::cuda
