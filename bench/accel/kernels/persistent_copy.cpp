// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <utility>

#include "accel/batch_copier.hpp"
#include "accel/kernels/kernels.hpp"
#include "accel/persistent_copy_kernel.hpp"

namespace nearpeak::kernels {
namespace {

// One warp looks for orders, as that of accel/kernels/resident.cpp does and for the same reasons:
// by one load, as two that meet in a sector are served one after the other, a microsecond each.
// What an order has inside comes with it, or, where it is more than a cache line, with the next
// look; then later looks are at all of it. An answer with its data inside needs no fence, as each
// word has its mark. More than a warp moves at once is the block's.
const char* const kPersistentCopy = R"(
struct Job {
  const u8* from;
  u8* to;
  u32 bytes;
  u32 mark;
  u32 over;
};

DEVICE u32 mark_after(u32 mark) { return mark == ~0u ? 1 : mark + 1; }

// A word of memory, and what is left of one: nothing beside it is touched.
DEVICE u64 load_word(const u8* at, u32 bytes) {
  if (bytes >= 8 && (u64)at % 8 == 0) return look((const u64*)at);
  if (bytes == 4 && (u64)at % 4 == 0) return look((const u32*)at);
  u64 word = 0;
  for (u32 b = 0; b < 8 && b < bytes; ++b) word |= (u64)look(at + b) << (8 * b);
  return word;
}
DEVICE void store_word(u8* at, u64 word, u32 bytes) {
  if (bytes >= 8 && (u64)at % 8 == 0) {
    put((u64*)at, word);
    return;
  }
  for (u32 b = 0; b < 8 && b < bytes; ++b) at[b] = (u8)(word >> (8 * b));
}

// Addresses that lie alike between multiples of 16.
template <int kDeep>
DEVICE void carry(u8* to, const u8* from, u64 bytes, u64 first, u64 step) {
  u64 head = (16 - (u64)to % 16) % 16;
  if (head > bytes) head = bytes;
  for (u64 b = first; b < head; b += step) to[b] = look(from + b);
  copy_part<kDeep>(to + head, from + head, bytes - head, first, step);
}

WAITING_KERNEL persistent_copy(u8* mailbox, u64 next, u64 number, u64 patience_ns) {
  OF_BLOCK(Job, job);
  constexpr u32 kOfLine = 8;  // the order and words
  const bool front = threadIdx.x < kWarp;
  const u32 lane = threadIdx.x % kWarp;
  // Of this lane, in the line: the first one finds the order there.
  const u32 word = (lane + kWarp - 1) % kWarp;
  const Quad* const line = (const Quad*)(mailbox + kOrder);
  u32* const answered = (u32*)(mailbox + kDone);
  u32 mark = (u32)next;
  bool wide = false;
  bool rests = false;
  bool over = false;
  if (threadIdx.x == 0) put((u32*)(mailbox + kHere), (u32)number);
  u64 since = now_ns();
  while (!over) {
    Job own{0, 0, 0, 0, 0};
    u32 idle = 0;
    while (front && own.bytes == 0 && !over) {
      if (rests)
        for (const u64 begin = now_ns(); now_ns() - begin < kRestNs;) breathe();
      rests = false;
      Quad mine = quad(0, 0, 0, ~mark);
      if (wide || lane < kOfLine) mine = look(line + lane);
      const Quad order = quad(of_lane(mine.x, 0), of_lane(mine.y, 0), of_lane(mine.z, 0),
                              of_lane(mine.w, 0));
      if (order.w != mark) {
        breathe();
        if (++idle % 16 == 0)
          over = lanes_where(now_ns() - since > patience_ns) != 0;
        continue;
      }
      if (lane == 0) mine.w = ~mark;  // it is no word
      u8* const address = (u8*)((u64)order.y << 32 | order.x);
      const u32 bytes = order.z & ((1u << kKindShift) - 1);
      const u32 kind = order.z >> kKindShift;
      const u32 count = (bytes + 7) / 8;
      if (kind == kToHost) {
        for (u32 i = lane; i < count; i += kWarp) {
          const u64 got = load_word(address + 8 * i, bytes - 8 * i);
          put((Quad*)(mailbox + kAnswers) + i, quad((u32)got, mark, (u32)(got >> 32), mark));
        }
      } else if (kind == kToDevice) {
        for (u32 i = word; i < count; i += kWarp) {
          while (mine.w != mark) mine = look(line + 1 + i);
          store_word(address + 8 * i, (u64)mine.y << 32 | mine.x, bytes - 8 * i);
          mine.w = ~mark;
        }
        wide = count >= kOfLine;
      } else if (kind == kLeave) {
        over = true;
      } else {
        while (word == 0 && mine.w != mark) mine = look(line + 1);
        own.to = (u8*)of_lane((u64)mine.y << 32 | mine.x, 1 % kWarp);
        own.from = address;
        own.mark = mark;
        if (bytes <= kWarpBytes)
          carry<8>(own.to, own.from, bytes, lane, kWarp);
        else
          own.bytes = bytes;
      }
      warp_meets();
      if (lane == 0 && kind != kToHost && own.bytes == 0 && !over) {
        fence();
        put(answered, mark);
      }
      mark = mark_after(mark);
      since = now_ns();
      idle = 0;
      rests = true;
    }
    if (threadIdx.x == 0) {
      own.over = over;
      job = own;
    }
    block_meets();
    over = job.over != 0;
    if (!over) carry<4>(job.to, job.from, job.bytes, threadIdx.x, blockDim.x);
    block_meets();
    since = now_ns();
    if (threadIdx.x == 0 && !over) {
      fence();
      put(answered, job.mark);
    }
  }
  if (threadIdx.x > 0) return;
  fence();
  put((u64*)(mailbox + kLeft), number << 32 | mark);
}
)";

}  // namespace

std::string persistent_copy() {
  using Mailbox = CopyMailbox;
  static_assert(offsetof(Mailbox, words) == offsetof(Mailbox, order) + sizeof(Mailbox::Quad));
  constexpr std::uint64_t kRestNs = 300;
  constexpr std::uint64_t kWarpBytes = 4096;
  const std::pair<const char*, std::uint64_t> numbers[] = {
      {"kToDevice", Mailbox::kToDevice},    {"kToHost", Mailbox::kToHost},
      {"kLeave", Mailbox::kLeave},          {"kKindShift", Mailbox::kKindShift},
      {"kOrder", offsetof(Mailbox, order)}, {"kAnswers", offsetof(Mailbox, answers)},
      {"kDone", offsetof(Mailbox, done)},   {"kHere", offsetof(Mailbox, here)},
      {"kLeft", offsetof(Mailbox, left)},   {"kRestNs", kRestNs},
      {"kWarpBytes", kWarpBytes},           {"kMostPieces", CopyBatch::kMost},
  };
  std::string text = kCopy;
  for (const auto& [name, value] : numbers)
    text += "constexpr u32 " + std::string(name) + " = " + std::to_string(value) + ";\n";
  return text + kPersistentCopy + kBlocks + kBatch;
}

}  // namespace nearpeak::kernels
