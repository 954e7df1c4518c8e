// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

// Whoever waits here gives up in the end: a GPU whose kernels never end hangs the machine. The
// timer is read rarely, as that costs more than a look at the flag.
const char* const kFlags = R"(
WAITING_KERNEL answer_flags(const u64* asked, u64* answered, u64 patience_ns) {
  u64 last = 0;
  u64 since = now_ns();
  for (u64 looks = 1;; ++looks) {
    const u64 value = look(asked);
    if (value == ~0ULL) return;
    if (value != last) {
      put(answered, value);
      last = value;
      since = now_ns();
    } else {
      breathe();
      if (looks % 256 == 0 && now_ns() - since > patience_ns) return;
    }
  }
}

// Each word of a message is stored together with the message's number: there is no fence and no
// flag that the data must not overtake. One box will do, as a message is sent only when the other
// end has answered the one before, and all of its threads have read that by then.
DEVICE void send_words(Quad* box, const u8* out, u64 words, u32 number) {
  for (u64 i = threadIdx.x; i < words; i += blockDim.x) {
    const u64 word = ((const u64*)out)[i];
    put(box + i, quad((u32)word, number, (u32)(word >> 32), number));
  }
}

DEVICE bool take_words(const Quad* box, u8* in, u64 bytes, u32 number, u64 patience_ns) {
  bool gave_up = false;
  for (u64 i = threadIdx.x; 8 * i < bytes && !gave_up; i += blockDim.x) {
    Quad got = look(box + i);
    u64 since = 0;
    for (u64 looks = 1; (got.y != number || got.w != number) && !gave_up; ++looks) {
      breathe();
      if (looks % 1024 == 0) {
        if (since == 0) since = now_ns();
        gave_up = now_ns() - since > patience_ns;
      }
      got = look(box + i);
    }
    const u64 word = (u64)got.z << 32 | got.x;
    if (gave_up) continue;
    if (8 * i + 8 <= bytes)
      ((u64*)in)[i] = word;
    else
      for (u64 b = 8 * i; b < bytes; ++b) in[b] = (u8)(word >> (8 * (b - 8 * i)));
  }
  return !any_in_block(gave_up);
}

WAITING_KERNEL pass_messages(Quad* peer_box, const Quad* box, const u8* out, u8* in, u64 bytes,
                             u64 rounds, u64 samples, u64 leads, u64 patience_ns, u64* times_ns) {
  const u64 words = (bytes + 7) / 8;
  u32 number = 0;
  for (u64 sample = 0; sample < samples; ++sample) {
    const u64 begin = now_ns();
    for (u64 round = 0; round < rounds; ++round) {
      ++number;
      if (leads != 0) send_words(peer_box, out, words, number);
      if (!take_words(box, in, bytes, number, patience_ns)) return;
      if (leads == 0) send_words(peer_box, out, words, number);
    }
    if (threadIdx.x == 0) put(times_ns + sample, now_ns() - begin);
  }
}
)";

}  // namespace nearpeak::kernels
