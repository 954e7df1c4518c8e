// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/pattern_kernels.hpp"

namespace nearpeak::opencl {

const char* const kPatternKernels = R"opencl(
ulong pattern_word(ulong seed, ulong index) {
  ulong z = (seed + index + 1) * 0x9E3779B97F4A7C15UL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;
  return z ^ (z >> 31);
}

kernel void fill(global uchar* base, ulong offset, ulong bytes, ulong seed, ulong flip) {
  global uchar* target = base + offset;
  const ulong words = (bytes + 7) / 8;
  for (ulong i = get_global_id(0); i < words; i += get_global_size(0)) {
    const ulong value = pattern_word(seed, i) ^ flip;
    if (offset % 8 == 0 && 8 * i + 8 <= bytes) {
      ((global ulong*)target)[i] = value;
      continue;
    }
    for (ulong b = 0; b < 8 && 8 * i + b < bytes; ++b) target[8 * i + b] = (uchar)(value >> (8 * b));
  }
}

kernel void find_wrong_block(global const uchar* base, ulong offset, ulong bytes, ulong seed,
                             ulong block_words, global uint* first) {
  global const uchar* data = base + offset;
  const ulong words = (bytes + 7) / 8;
  for (ulong i = get_global_id(0); i < words; i += get_global_size(0)) {
    const ulong value = pattern_word(seed, i);
    bool wrong = false;
    if (offset % 8 == 0 && 8 * i + 8 <= bytes) {
      wrong = ((global const ulong*)data)[i] != value;
    } else {
      for (ulong b = 0; b < 8 && 8 * i + b < bytes; ++b)
        wrong = wrong || data[8 * i + b] != (uchar)(value >> (8 * b));
    }
    if (wrong) {
      atomic_min(first, (uint)(i / block_words));
      return;  // this item's later words are further on
    }
  }
}
)opencl";

}  // namespace nearpeak::opencl
