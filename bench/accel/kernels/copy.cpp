// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

// kDeep loads are on their way before the first store: a link needs many bytes in flight. They are
// not out of a cache, as a kernel that stays may read a place again that others have written to.
const char* const kCopy = R"(
template <int kDeep>
DEVICE void copy_part(u8* to, const u8* from, u64 bytes, u64 first, u64 step) {
  const u64 words = ((u64)to | (u64)from) % 16 == 0 ? bytes / 16 : 0;
  Quad* const wide_to = (Quad*)to;
  const Quad* const wide_from = (const Quad*)from;
  for (u64 i = first; i < words; i += kDeep * step) {
    Quad part[kDeep];
#pragma unroll
    for (int j = 0; j < kDeep; ++j)
      if (i + j * step < words) part[j] = look(wide_from + i + j * step);
#pragma unroll
    for (int j = 0; j < kDeep; ++j)
      if (i + j * step < words) wide_to[i + j * step] = part[j];
  }
  u64 done = 16 * words;
  if (bytes - done >= 8 && ((u64)to | (u64)from) % 8 == 0) {
    if (first == 0) *(u64*)(to + done) = look((const u64*)(from + done));
    done += 8;
  }
  for (u64 b = done + first; b < bytes; b += step) to[b] = look(from + b);
}

KERNEL copy_slots(u8* to, const u8* from, u64 bytes, u64 stride, u64 count, u64 blocks) {
  const u64 first = (u64)(blockIdx.x % blocks) * blockDim.x + threadIdx.x;
  for (u64 slot = blockIdx.x / blocks; slot < count; slot += gridDim.x / blocks)
    copy_part<4>(to + slot * stride, from + slot * stride, bytes, first, blocks * blockDim.x);
}
)";

}  // namespace nearpeak::kernels
