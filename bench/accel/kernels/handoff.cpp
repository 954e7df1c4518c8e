// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {
namespace {

// The clock is read before all else, and last when every thread is done.
const char* const kHandOver = R"(
WAITING_KERNEL hand_over(u8* seen, u8* in, u8* out, const u8* source, u64 bytes, u64* times_ns,
                         u64 number) {
  const u64 begin = now_ns();
  copy_part<4>(seen, in, bytes, threadIdx.x, blockDim.x);
  copy_part<4>(out, source, bytes, threadIdx.x, blockDim.x);
  block_meets();
  for (u64 i = threadIdx.x; i < bytes; i += blockDim.x) in[i] = 0;
  block_meets();
  if (threadIdx.x == 0) {
    put(times_ns + 2 * number, begin);
    put(times_ns + 2 * number + 1, now_ns());
  }
}
)";

}  // namespace

std::string handing_over() { return std::string(kCopy) + kHandOver; }

}  // namespace nearpeak::kernels
