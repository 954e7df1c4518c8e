// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

// Four chains of multiplications and additions, so that a thread need not wait for one result
// before it begins the next. All values stay near 1. They begin with the time that was read first,
// and the time that is read last comes after the sum is stored: neither reading moves into the
// work.
const char* const kArithmetic = R"(
KERNEL compute(u32* sums, u64 steps, u64 one, u64* times_ns) {
  const u64 begin = now_ns();
  const float shift = (float)one / 1024, scale = (float)one - shift;
  float a = (float)(begin % 2), b = a + shift, c = b + shift, d = c + shift;
  for (u64 i = 0; i < steps; ++i) {
    a = a * scale + shift;
    b = b * scale + shift;
    c = c * scale + shift;
    d = d * scale + shift;
  }
  put(sums + (u64)blockIdx.x * blockDim.x + threadIdx.x, (u32)(1024 * (a + b + c + d)));
  if (threadIdx.x == 0) {
    put(times_ns + 2 * blockIdx.x, begin);
    put(times_ns + 2 * blockIdx.x + 1, now_ns());
  }
}
)";

}  // namespace nearpeak::kernels
