// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/pattern_kernels.hpp"

namespace nearpeak::opencl {

const char* const kPatternKernels = R"opencl(
#define STAMP_WORDS 512  // as in payload/pattern.cpp

ulong mixed(ulong value) {
  ulong z = value * 0x9E3779B97F4A7C15UL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;
  return z ^ (z >> 31);
}

ulong plain_word(ulong seed, ulong slot, ulong index) {
  return mixed(seed + (slot << 32) + index + 1);
}

// With what the gap has where the payload ends within the word.
ulong payload_word(ulong seed, ulong stamp, ulong bytes, ulong slot, ulong index) {
  const ulong plain = plain_word(seed, slot, index);
  if (8 * index >= bytes) return ~plain;
  const bool stamped = index % STAMP_WORDS == 0 || index + 1 == (bytes + 7) / 8;
  const ulong value = plain ^ (stamped ? stamp : 0);
  const ulong length = bytes - 8 * index;
  if (length >= 8) return value;
  const ulong mask = (1UL << (8 * length)) - 1;
  return (value & mask) | (~plain & ~mask);
}

ulong stamp_of(ulong round) { return round == 0 ? 0 : mixed(round); }
ulong stamps_of(ulong bytes) {
  const ulong words = (bytes + 7) / 8;
  const bool last = words > 1 && (words - 1) % STAMP_WORDS != 0;
  return (words + STAMP_WORDS - 1) / STAMP_WORDS + (last ? 1 : 0);
}
ulong stamp_index(ulong which, ulong bytes) {
  const ulong words = (bytes + 7) / 8;
  return which * STAMP_WORDS < words ? which * STAMP_WORDS : words - 1;
}

void put_bytes(global uchar* at, ulong place, ulong value, ulong length) {
  if (length >= 8 && place % 8 == 0) {
    *(global ulong*)at = value;
    return;
  }
  for (ulong b = 0; b < 8 && b < length; ++b) at[b] = (uchar)(value >> (8 * b));
}

kernel void fill(global uchar* base, ulong offset, ulong bytes, ulong stride, ulong count,
                 ulong seed, ulong round, ulong stamps) {
  const ulong stamp = stamp_of(round);
  const ulong each = stamps != 0 ? stamps_of(bytes) : (bytes + 7) / 8;
  for (ulong i = get_global_id(0); i < each * count; i += get_global_size(0)) {
    const ulong slot = i / each;
    const ulong index = stamps != 0 ? stamp_index(i % each, bytes) : i % each;
    const ulong place = offset + slot * stride + 8 * index;
    put_bytes(base + place, place, payload_word(seed, stamp, bytes, slot, index),
              bytes - 8 * index);
  }
}

kernel void poison(global uchar* base, ulong offset, ulong stride, ulong count, ulong seed) {
  const ulong each = (stride + 7) / 8;
  for (ulong i = get_global_id(0); i < each * count; i += get_global_size(0)) {
    const ulong place = offset + i / each * stride + 8 * (i % each);
    put_bytes(base + place, place, ~plain_word(seed, i / each, i % each), stride - 8 * (i % each));
  }
}

kernel void find_wrong_slot(global const uchar* base, ulong offset, ulong bytes, ulong stride,
                            ulong count, ulong seed, ulong round, ulong stamps,
                            global uint* first) {
  const ulong stamp = stamp_of(round);
  const ulong end = stamps != 0 ? bytes : stride;  // gaps are looked at with whole payloads
  const ulong each = stamps != 0 ? stamps_of(bytes) : (stride + 7) / 8;
  for (ulong i = get_global_id(0); i < each * count; i += get_global_size(0)) {
    const ulong slot = i / each;
    const ulong index = stamps != 0 ? stamp_index(i % each, bytes) : i % each;
    const ulong value = payload_word(seed, stamp, bytes, slot, index);
    const ulong place = offset + slot * stride + 8 * index;
    bool wrong = false;
    if (place % 8 == 0 && 8 * index + 8 <= end) {
      wrong = *(global const ulong*)(base + place) != value;
    } else {
      for (ulong b = 0; b < 8 && 8 * index + b < end; ++b)
        wrong = wrong || base[place + b] != (uchar)(value >> (8 * b));
    }
    if (wrong) {
      atomic_min(first, (uint)slot);
      return;  // this item's later words are further on
    }
  }
}
)opencl";

}  // namespace nearpeak::opencl
