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

// Whoever waits here gives up in the end: a GPU whose kernels never end hangs the machine. The
// timer is read rarely, as that costs more than a look at the flag.
const char* const kFlagKernels = R"cuda(
__device__ u64 now_ns() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

extern "C" __global__ void answer_flags(volatile u64* asked, volatile u64* answered,
                                        u64 patience_ns) {
  u64 last = 0;
  u64 since = now_ns();
  for (u64 looks = 1;; ++looks) {
    const u64 value = *asked;
    if (value == ~0ULL) return;
    if (value != last) {
      *answered = value;
      last = value;
      since = now_ns();
    } else if (looks % 256 == 0 && now_ns() - since > patience_ns) {
      return;
    }
  }
}

__device__ bool await_flag(volatile u64* flag, u64 value, u64 patience_ns) {
  int gave_up = 0;
  if (threadIdx.x == 0) {
    const u64 since = now_ns();
    for (u64 looks = 1; *flag < value && gave_up == 0; ++looks)
      if (looks % 256 == 0 && now_ns() - since > patience_ns) gave_up = 1;
    __threadfence_system();
  }
  return __syncthreads_or(gave_up) == 0;
}

// The barrier, then the fence of the one thread that sets the flag: whoever sees it sees what all
// threads have stored.
__device__ void send_message(u8* to, const u8* from, u64 bytes, volatile u64* flag, u64 value) {
  copy_part(to, from, bytes, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  *flag = value;
}

extern "C" __global__ void pass_messages(u8* peer_in, const u8* out, volatile u64* peer_flag,
                                         volatile u64* flag, u64 bytes, u64 rounds, u64 samples,
                                         u64 leads, u64 patience_ns, u64* times_ns) {
  u64 value = 0;
  for (u64 sample = 0; sample < samples; ++sample) {
    const u64 begin = now_ns();
    for (u64 round = 0; round < rounds; ++round) {
      ++value;
      if (leads != 0) send_message(peer_in, out, bytes, peer_flag, value);
      if (!await_flag(flag, value, patience_ns)) return;
      if (leads == 0) send_message(peer_in, out, bytes, peer_flag, value);
    }
    if (threadIdx.x == 0) times_ns[sample] = now_ns() - begin;
  }
}
)cuda";

}  // namespace nearpeak::cuda
