// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

const char* const kPattern = R"(
constexpr u64 kStampWords = 512;  // as in payload/pattern.cpp

DEVICE u64 mixed(u64 value) {
  u64 z = value * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

DEVICE u64 plain_word(u64 seed, u64 slot, u64 index) {
  return mixed(seed + (slot << 32) + index + 1);
}

// With what the gap has where the payload ends within the word.
DEVICE u64 payload_word(u64 seed, u64 stamp, u64 bytes, u64 slot, u64 index) {
  const u64 plain = plain_word(seed, slot, index);
  if (8 * index >= bytes) return ~plain;
  const bool stamped = index % kStampWords == 0 || index + 1 == (bytes + 7) / 8;
  const u64 value = plain ^ (stamped ? stamp : 0);
  const u64 length = bytes - 8 * index;
  if (length >= 8) return value;
  const u64 mask = (1ULL << (8 * length)) - 1;
  return (value & mask) | (~plain & ~mask);
}

DEVICE u64 stamp_of(u64 round) { return round == 0 ? 0 : mixed(round); }
DEVICE u64 stamps_of(u64 bytes) {
  const u64 words = (bytes + 7) / 8;
  const bool last = words > 1 && (words - 1) % kStampWords != 0;
  return (words + kStampWords - 1) / kStampWords + (last ? 1 : 0);
}
DEVICE u64 stamp_index(u64 which, u64 bytes) {
  const u64 words = (bytes + 7) / 8;
  return which * kStampWords < words ? which * kStampWords : words - 1;
}

// This thread's share of `each` items in each of `count` slots.
struct Share {
  u64 each, slot, item, slot_step, item_step;
  DEVICE Share(u64 of_slot) : each(of_slot) {
    const u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 step = (u64)gridDim.x * blockDim.x;
    slot = first / each;
    item = first % each;
    slot_step = step / each;
    item_step = step % each;
  }
  DEVICE void next() {
    slot += slot_step;
    item += item_step;
    if (item < each) return;
    item -= each;
    ++slot;
  }
};

DEVICE void put_bytes(u8* at, u64 value, u64 length) {
  if (length >= 8 && (u64)at % 8 == 0) {
    *(u64*)at = value;
    return;
  }
  for (u64 b = 0; b < 8 && b < length; ++b) at[b] = (u8)(value >> (8 * b));
}

KERNEL fill(u8* base, u64 bytes, u64 stride, u64 count, u64 seed, u64 round, u64 stamps) {
  if (bytes == 0) return;
  const u64 stamp = stamp_of(round);
  for (Share share(stamps != 0 ? stamps_of(bytes) : (bytes + 7) / 8); share.slot < count;
       share.next()) {
    const u64 index = stamps != 0 ? stamp_index(share.item, bytes) : share.item;
    put_bytes(base + share.slot * stride + 8 * index,
              payload_word(seed, stamp, bytes, share.slot, index), bytes - 8 * index);
  }
}

KERNEL poison(u8* base, u64 stride, u64 count, u64 seed) {
  if (stride == 0) return;
  for (Share share((stride + 7) / 8); share.slot < count; share.next())
    put_bytes(base + share.slot * stride + 8 * share.item,
              ~plain_word(seed, share.slot, share.item), stride - 8 * share.item);
}

KERNEL find_mismatch(const u8* base, u64 bytes, u64 stride, u64 count, u64 seed, u64 round,
                     u64 stamps, u64* first) {
  const u64 stamp = stamp_of(round);
  const u64 end = stamps != 0 ? bytes : stride;  // gaps are looked at with whole payloads
  if (end == 0) return;
  for (Share share(stamps != 0 ? stamps_of(bytes) : (stride + 7) / 8); share.slot < count;
       share.next()) {
    const u64 index = stamps != 0 ? stamp_index(share.item, bytes) : share.item;
    const u64 value = payload_word(seed, stamp, bytes, share.slot, index);
    const u64 place = share.slot * stride + 8 * index;
    const u8* const at = base + place;
    if ((u64)at % 8 == 0 && 8 * index + 8 <= end && *(const u64*)at == value) continue;
    for (u64 b = 0; b < 8 && 8 * index + b < end; ++b) {
      if (at[b] == (u8)(value >> (8 * b))) continue;
      smallest(first, place + b);
      return;  // this thread's later words are further on
    }
  }
}
)";

}  // namespace nearpeak::kernels
