// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/pattern_kernels.hpp"

namespace nearpeak::cuda {

const char* const kPatternKernels = R"cuda(
typedef unsigned long long u64;
typedef unsigned char u8;

__device__ u64 pattern_word(u64 seed, u64 index) {
  u64 z = (seed + index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

extern "C" __global__ void fill(u8* target, u64 bytes, u64 seed, u64 flip) {
  const u64 step = (u64)gridDim.x * blockDim.x;
  const u64 words = (bytes + 7) / 8;
  const bool aligned = (u64)target % 8 == 0;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
    const u64 value = pattern_word(seed, i) ^ flip;
    if (aligned && 8 * i + 8 <= bytes) {
      ((u64*)target)[i] = value;
      continue;
    }
    for (u64 b = 0; b < 8 && 8 * i + b < bytes; ++b) target[8 * i + b] = (u8)(value >> (8 * b));
  }
}

extern "C" __global__ void find_mismatch(const u8* data, u64 bytes, u64 seed, u64* first) {
  const u64 step = (u64)gridDim.x * blockDim.x;
  const u64 words = (bytes + 7) / 8;
  const bool aligned = (u64)data % 8 == 0;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
    const u64 value = pattern_word(seed, i);
    if (aligned && 8 * i + 8 <= bytes && ((const u64*)data)[i] == value) continue;
    for (u64 b = 0; b < 8 && 8 * i + b < bytes; ++b) {
      if (data[8 * i + b] == (u8)(value >> (8 * b))) continue;
      atomicMin(first, 8 * i + b);
      return;  // this thread's later words are further on
    }
  }
}
)cuda";

}  // namespace nearpeak::cuda
