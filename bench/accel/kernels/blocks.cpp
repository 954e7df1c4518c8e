// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

const char* const kBlocks = R"(
struct Places {
  u64 count;
  u64 to;
  u64 from;
};

template <class Word>
DEVICE void move_words(u8* to, const u8* from, u32 words, u32 block, Places a, Places b, Places c,
                       Places d) {
  const u64 step = (u64)gridDim.x * blockDim.x;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
    // Numbers of 64 bits are divided ten times as slowly.
    u32 number = (u32)i / block;
    const u64 within = ((u32)i - number * block) * sizeof(Word);
    u64 there = within;
    u64 here = within;
    const Places levels[] = {a, b, c};
    for (const Places& level : levels) {
      const u32 count = (u32)level.count;
      const u32 next = number / count;
      const u32 place = number - next * count;
      there += place * level.to;
      here += place * level.from;
      number = next;
    }
    *(Word*)(to + there + number * d.to) = *(const Word*)(from + here + number * d.from);
  }
}

KERNEL move_blocks(u8* to, const u8* from, u64 bytes, u64 word, u64 block, u64 count0, u64 to0,
                   u64 from0, u64 count1, u64 to1, u64 from1, u64 count2, u64 to2, u64 from2,
                   u64 to3, u64 from3) {
  const Places a{count0, to0, from0}, b{count1, to1, from1}, c{count2, to2, from2},
      d{1, to3, from3};
  const u32 words = (u32)(bytes / word), of_block = (u32)(block / word);
  if (word == 16) return move_words<Quad>(to, from, words, of_block, a, b, c, d);
  if (word == 8) return move_words<u64>(to, from, words, of_block, a, b, c, d);
  if (word == 4) return move_words<u32>(to, from, words, of_block, a, b, c, d);
  if (word == 2) return move_words<unsigned short>(to, from, words, of_block, a, b, c, d);
  move_words<u8>(to, from, words, of_block, a, b, c, d);
}
)";

}  // namespace nearpeak::kernels
