// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/copy_kernels.hpp"

namespace nearpeak::cuda {

// Four loads are on their way before the first store: a link needs many bytes in flight.
const char* const kCopyKernels = R"cuda(
typedef unsigned long long u64;
typedef unsigned char u8;

__device__ void copy_part(u8* to, const u8* from, u64 bytes, u64 first, u64 step) {
  const u64 words = ((u64)to | (u64)from) % 16 == 0 ? bytes / 16 : 0;
  uint4* const wide_to = (uint4*)to;
  const uint4* const wide_from = (const uint4*)from;
  u64 i = first;
  for (; i + 3 * step < words; i += 4 * step) {
    const uint4 a = wide_from[i];
    const uint4 b = wide_from[i + step];
    const uint4 c = wide_from[i + 2 * step];
    const uint4 d = wide_from[i + 3 * step];
    wide_to[i] = a;
    wide_to[i + step] = b;
    wide_to[i + 2 * step] = c;
    wide_to[i + 3 * step] = d;
  }
  for (; i < words; i += step) wide_to[i] = wide_from[i];
  for (u64 b = 16 * words + first; b < bytes; b += step) to[b] = from[b];
}

extern "C" __global__ void copy_slots(u8* to, const u8* from, u64 bytes, u64 stride, u64 count,
                                      u64 blocks) {
  const u64 first = blockIdx.x % blocks * blockDim.x + threadIdx.x;
  for (u64 slot = blockIdx.x / blocks; slot < count; slot += gridDim.x / blocks)
    copy_part(to + slot * stride, from + slot * stride, bytes, first, blocks * blockDim.x);
}
)cuda";

}  // namespace nearpeak::cuda
