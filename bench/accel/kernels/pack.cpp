// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

const char* const kPack = R"(
template <class Word>
DEVICE void copy_words(u8* to, const u8* from, u64 bytes, u64 first, u64 step) {
  for (u64 i = first; i < bytes / sizeof(Word); i += step) ((Word*)to)[i] = ((const Word*)from)[i];
}

DEVICE void copy_block(u8* to, const u8* from, u64 bytes, u64 word, u64 lane, u64 lanes) {
  if (word == 16) return copy_words<Quad>(to, from, bytes, lane, lanes);
  if (word == 8) return copy_words<u64>(to, from, bytes, lane, lanes);
  if (word == 4) return copy_words<u32>(to, from, bytes, lane, lanes);
  copy_words<u8>(to, from, bytes, lane, lanes);
}

KERNEL pack_blocks(u8* packed, const u8* data, const u64* offsets, const u64* starts, u64 count,
                   u64 word, u64 lanes) {
  const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  const u64 step = (u64)gridDim.x * blockDim.x / lanes;
  for (u64 i = thread / lanes; i < count; i += step)
    copy_block(packed + starts[i], data + offsets[i], starts[i + 1] - starts[i], word,
               thread % lanes, lanes);
}

KERNEL unpack_blocks(u8* data, const u8* packed, const u64* offsets, const u64* starts, u64 count,
                     u64 word, u64 lanes) {
  const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  const u64 step = (u64)gridDim.x * blockDim.x / lanes;
  for (u64 i = thread / lanes; i < count; i += step)
    copy_block(data + offsets[i], packed + starts[i], starts[i + 1] - starts[i], word,
               thread % lanes, lanes);
}
)";

}  // namespace nearpeak::kernels
