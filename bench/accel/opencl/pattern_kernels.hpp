// SPDX-License-Identifier: Apache-2.0
// Kernels that fill and verify the pattern of payload/pattern.hpp. All are correct for every shape
// of launch.
//   fill(base, offset, bytes, seed, flip)   flip: 0, or all ones for the inverse
//   find_wrong_block(base, offset, bytes, seed, block_words, first)
//                                           *first becomes the smaller of itself and the index of
//                                           the first block of words with a wrong byte
// The payload begins `offset` bytes after `base`, the start of its memory: a buffer of OpenCL can
// be given to a kernel only from there. Whole blocks, because atomics of 64 bits are an extension
// and those of 32 would not reach a byte beyond 4 GiB. *first is 32 bits wide, all else 64.
#pragma once

namespace nearpeak::opencl {

extern const char* const kPatternKernels;

}  // namespace nearpeak::opencl
