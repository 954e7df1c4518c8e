// SPDX-License-Identifier: Apache-2.0
// Payloads as payload/pattern.hpp has them, of all slots at once. All kernels are right for every
// shape of launch.
//   fill(base, offset, bytes, stride, count, seed, round, stamps)   stamps: 0, or 1 for these alone
//   poison(base, offset, stride, count, seed)
//   find_wrong_slot(base, offset, bytes, stride, count, seed, round, stamps, first)
//                      *first becomes the smaller of itself and of the first slot with a wrong byte
// The slots begin `offset` bytes after `base`, the start of their memory: a buffer of OpenCL can be
// given to a kernel only from there. Slots, because atomics of 64 bits are an extension and those
// of 32 would not reach a byte beyond 4 GiB. *first is 32 bits wide, all else 64.
#pragma once

namespace nearpeak::opencl {

extern const char* const kPatternKernels;

}  // namespace nearpeak::opencl
