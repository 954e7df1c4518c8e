// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

// Without atomic operations: each thread counts in a place of its own, so that there are few of
// them; each asks for several particles at once.
const char* const kParticles = R"(
#define AT_ONCE 8
typedef STRUCT_OF_16 { u64 word[2]; } Particle16;

KERNEL particles_mark(GLOBAL unsigned char* UNALIASED marks, GLOBAL u32* UNALIASED counts,
                      GLOBAL const u64* UNALIASED records, u64 words, u64 all, u64 shift,
                      u64 moving, GLOBAL const unsigned char* UNALIASED directions, u64 counters) {
  const u64 thread = thread_number();
  if (thread >= counters) return;
  for (u64 i = 0; i < 26; ++i) counts[i * counters + thread] = 0;
  for (u64 first = thread; first < all; first += AT_ONCE * counters) {
    u64 places[AT_ONCE];
    for (u32 j = 0; j < AT_ONCE; ++j) {
      const u64 i = first + j * counters;
      places[j] = i < all ? records[i * words + 1] + shift : 0;
    }
    for (u32 j = 0; j < AT_ONCE; ++j) {
      const u64 i = first + j * counters;
      if (i >= all) break;
      const u64 place = places[j] >= all ? places[j] - all : places[j];
      unsigned char mark = 255;
      if (place < moving) {
        mark = directions[place];
        ++counts[mark * counters + thread];
      }
      marks[i] = mark;
    }
  }
}

KERNEL particles_add_up(GLOBAL u32* UNALIASED sums, GLOBAL u32* UNALIASED counts, u64 group,
                        u64 groups) {
  const u64 thread = thread_number();
  if (thread >= groups) return;
  u32 sum = 0;
  for (u64 i = thread * group; i < (thread + 1) * group; ++i) {
    const u32 count = counts[i];
    counts[i] = sum;
    sum += count;
  }
  sums[thread] = sum;
}

KERNEL particles_list(GLOBAL u32* UNALIASED leaving, GLOBAL const unsigned char* UNALIASED marks,
                      GLOBAL u32* UNALIASED counts, GLOBAL const u32* UNALIASED begins, u64 all,
                      u64 group, u64 counters, u64 room) {
  const u64 thread = thread_number();
  if (thread >= counters) return;
  for (u64 first = thread; first < all; first += AT_ONCE * counters) {
    u32 found[AT_ONCE];
    for (u32 j = 0; j < AT_ONCE; ++j) {
      const u64 i = first + j * counters;
      found[j] = i < all ? marks[i] : 255;
    }
    for (u32 j = 0; j < AT_ONCE; ++j) {
      if (found[j] == 255) continue;
      const u64 counter = found[j] * counters + thread;
      const u64 at = begins[counter / group] + counts[counter]++;
      if (at < room) leaving[at] = (u32)(first + j * counters);
    }
  }
}

KERNEL particles_pack(GLOBAL Particle16* UNALIASED out, GLOBAL const Particle16* UNALIASED records,
                      GLOBAL const u32* UNALIASED leaving, u64 count, u64 pieces) {
  for (u64 i = thread_number(); i < count * pieces; i += thread_count())
    out[i] = records[leaving[i / pieces] * pieces + i % pieces];
}

KERNEL particles_unpack(GLOBAL const Particle16* UNALIASED in, GLOBAL Particle16* UNALIASED records,
                        GLOBAL const u32* UNALIASED leaving, u64 count, u64 pieces) {
  for (u64 i = thread_number(); i < count * pieces; i += thread_count())
    records[leaving[i / pieces] * pieces + i % pieces] = in[i];
}
)";

}  // namespace nearpeak::kernels
