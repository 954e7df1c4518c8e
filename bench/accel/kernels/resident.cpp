// SPDX-License-Identifier: Apache-2.0
#include "accel/resident.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {
namespace {

// Measurements made it so (docs/methods/ceilings.md). A GPU serves looks at one sector of host
// memory one after the other, a microsecond each: so one warp looks, with one load for each
// direction, at the bells of a cache line, and at more once there were several. More looks under
// way are no gain, as a fence waits for them. A bell that comes alone is served where it is seen,
// by the warp or by its block: every hop through the device's memory costs most of a microsecond.
// Of several, each goes to a block. Arrivals in parts are added up by the CPU: a counter of the
// blocks would be another hop. After a message served alone the warp rests a little: a look at once
// would come just before the answer, and the next one a microsecond later.
const char* const kText = R"(
// {slot, at + 1, bytes, at + 1}, {first worker and parts, at + 1, mark, at + 1}
struct Relayed {
  Quad what, how;
};

struct Direction {
  u8* queue;
  const u8* from;
  u8* to;
  Relayed* relay;
};

struct Job {
  const u8* from;
  u8* to;
  u64 bytes;
  u32 direction, mark, parts, part;
};

struct OfBlock {
  Job jobs[2 * kWarp];
  u32 count, over;
};

struct Resident {
  Direction first, second;
  u64 stride;
  u32 workers;  // blocks that work for the first one
};

// Of the block that serves: what comes next.
struct Server {
  u32 message[2];
  u32 relayed[2];
  u32 worker;
};

DEVICE u32 mark_of(u32 number) { return (number + 1) & 0xffffff; }
DEVICE u32 place_of(u32 mark) { return (mark - 1) % kMessages; }

// All that the message or its part consists of has been stored.
DEVICE void tell(u8* queue, u32 mark, u32 parts, u32 part) {
  fence();
  u32* const whole = (u32*)(queue + kWhole) + place_of(mark);
  u32* const in_parts = (u32*)(queue + kParts) + place_of(mark) * kMostParts;
  put(parts == 1 ? whole : in_parts + part, mark);
}

DEVICE u32 parts_of(u64 bytes, u32 workers) {
  if (bytes <= kBlockBytes || workers == 0) return 1;
  u64 parts = (bytes + kPartBytes - 1) / kPartBytes;
  if (parts > workers) parts = workers;
  return parts > kMostParts ? kMostParts : (u32)parts;
}

DEVICE u64 begin_of(u32 part, u32 parts, u64 bytes) {
  const u64 each = ((bytes + parts - 1) / parts + 127) / 128 * 128;
  const u64 begin = part * each;
  return begin < bytes ? begin : bytes;
}

// The bell of this lane: those of one cache line, or as many as there are lanes.
DEVICE Quad look_for_bell(const Direction& d, u32 next, bool wide) {
  constexpr u32 kOfLine = 8;
  const u32 number = next + threadIdx.x % kWarp;
  const bool looks = wide || number / kOfLine == next / kOfLine;
  if (!looks) return quad(0, 0, 0, ~(mark_of(number) << 8));
  return look((const Quad*)(d.queue + kBells) + number % kMessages);
}

// Serves the bells that are this direction's next ones. Returns how many jobs the block has.
template <u32 kDirection>
DEVICE u32 serve(const Resident& r, const Direction& d, Quad bell, Server& server, Job* jobs) {
  const u32 lane = threadIdx.x % kWarp;
  const u32 mark = mark_of(server.message[kDirection] + lane);
  const u32 found = leading(lanes_where(bell.w >> 8 == mark));
  if (found == 0) return 0;
  server.message[kDirection] += found;
  const bool mine = lane < found;
  const u32 kind = bell.w & 0xff;
  const u64 at = r.stride * bell.x;
  bool stored = false;
  if (mine && kind >= 1 && kind <= kInside) {
    const u64 payload = (u64)bell.z << 32 | bell.y;
    if (kind == 8)
      put((u64*)(d.to + at), payload);
    else
      for (u32 b = 0; b < kind; ++b) d.to[at + b] = (u8)(payload >> (8 * b));
    stored = true;
  }
  if (mine && kind == kIntoArrival) {
    const u64 payload = look((const u64*)(d.from + at));
    put((Quad*)(d.queue + kInsides) + place_of(mark),
        quad((u32)payload, mark, (u32)(payload >> 32), mark));
  }
  const bool copies = mine && kind == kCopy;
  const u64 bytes = copies ? bell.y : 0;
  const Lanes all = lanes_where(copies);
  const u32 count = count_of(all);
  const bool for_warp = count == 1 && lanes_where(bytes > kWarpBytes) == 0;
  const bool for_block = r.workers == 0 || (count == 1 && lanes_where(bytes > kBlockBytes) == 0);
  u32 given = 0;
  if (for_warp) {
    const u32 which = first_of(all);
    const u64 there = of_lane(at, which);
    copy_part<8>(d.to + there, d.from + there, of_lane(bytes, which), lane, kWarp);
    warp_meets();
    stored = stored || copies;
  } else if (for_block) {
    if (copies)
      jobs[count_before(all, lane)] = Job{d.from + at, d.to + at, bytes, kDirection, mark, 1, 0};
    given = count;
  } else if (count > 0) {
    const u32 parts = copies ? parts_of(bytes, r.workers) : 0;
    u32 upto = parts;  // of this lane and those before it
    for (u32 far = 1; far < kWarp; far *= 2) {
      const u32 more = of_lane(upto, lane - far);
      if (lane >= far) upto += more;
    }
    if (copies) {
      const u32 entry = server.relayed[kDirection] + count_before(all, lane);
      const u32 worker = (server.worker + upto - parts) % r.workers;
      Relayed* const relayed = d.relay + entry % kMessages;
      put(&relayed->what, quad(bell.x, entry + 1, bell.y, entry + 1));
      put(&relayed->how, quad(worker << 16 | parts, entry + 1, mark, entry + 1));
    }
    server.relayed[kDirection] += count;
    server.worker = (server.worker + of_lane(upto, kWarp - 1)) % r.workers;
  }
  if (stored) tell(d.queue, mark, 1, 0);
  warp_meets();
  return given;
}

// The jobs of this block in what this direction's relay has from `next` on. An entry is overwritten
// once its message has arrived: whoever finds a later one had no part in those between.
template <u32 kDirection>
DEVICE u32 take(const Resident& r, const Direction& d, u32& next, Job* jobs, bool& over) {
  const u32 lane = threadIdx.x % kWarp;
  const Relayed* const relayed = d.relay + (next + lane) % kMessages;
  const Quad what = look(&relayed->what);
  const Quad how = look(&relayed->how);
  const u32 entry = next + lane + 1;
  const bool whole = what.y == what.w && what.y == how.y && how.y == how.w;
  const u32 found = leading(lanes_where(whole && what.y == entry));
  if (found == 0) {
    if (lanes_where(lane == 0 && whole && (int)(what.y - entry) > 0) != 0)
      next = of_lane(what.y, 0) - kMessages;
    return 0;
  }
  next += found;
  const u32 parts = how.x & 0xffff;
  over = lanes_where(lane < found && parts == 0) != 0;
  const u32 part = (blockIdx.x - 1 + r.workers - (how.x >> 16)) % r.workers;
  const bool mine = lane < found && part < parts;
  const Lanes all = lanes_where(mine);
  if (mine) {
    const u64 begin = begin_of(part, parts, what.z);
    const u64 at = r.stride * what.x + begin;
    jobs[count_before(all, lane)] =
        Job{d.from + at, d.to + at, begin_of(part + 1, parts, what.z) - begin,
            kDirection, how.z, parts, part};
  }
  return count_of(all);
}

WAITING_KERNEL resident(u8* queue_0, const u8* from_0, u8* to_0, u8* queue_1, const u8* from_1,
                        u8* to_1, u64 directions, Relayed* relay, u64 stride, u64 next, u64 epoch,
                        u64 patience_ns) {
  OF_BLOCK(OfBlock, block);
  const Resident r{{queue_0, from_0, to_0, relay},
                   {queue_1, from_1, to_1, relay + kMessages},
                   stride,
                   gridDim.x - 1};
  const bool front = threadIdx.x < kWarp;
  Server server{{(u32)next, (u32)(next >> 32)}, {0, 0}, 0};
  u32 taken_first = 0, taken_second = 0;
  bool wide = false;
  bool rests = false;
  bool over = false;
  u64 since = now_ns();
  while (!over) {
    u32 count = 0;
    u32 idle = 0;
    while (front && blockIdx.x == 0 && count == 0 && !over) {
      if (rests)
        for (const u64 begin = now_ns(); now_ns() - begin < kRestNs;) breathe();
      Quad first = look_for_bell(r.first, server.message[0], wide);
      Quad second = quad(0, 0, 0, ~(mark_of(server.message[1] + threadIdx.x % kWarp) << 8));
      if (directions == 2) second = look_for_bell(r.second, server.message[1], wide);
      const u32 before = server.message[0] + server.message[1];
      const u32 relayed = server.relayed[0] + server.relayed[1];
      count = serve<0>(r, r.first, first, server, block.jobs);
      count += serve<1>(r, r.second, second, server, block.jobs + count);
      const u32 served = server.message[0] + server.message[1] - before;
      wide = served > 1;
      rests = served == 1 && server.relayed[0] + server.relayed[1] == relayed;
      if (served > 0) {
        since = now_ns();
        idle = 0;
        continue;
      }
      breathe();
      if (++idle % 64 == 0)
        over = lanes_where(look((const u32*)(r.first.queue + kLeave)) == (u32)epoch ||
                           now_ns() - since > patience_ns) != 0;
    }
    while (front && blockIdx.x > 0 && count == 0 && !over) {
      count = take<0>(r, r.first, taken_first, block.jobs, over);
      bool never = false;
      if (directions == 2)
        count += take<1>(r, r.second, taken_second, block.jobs + count, never);
      if (count == 0) breathe();
    }
    if (threadIdx.x == 0) {
      block.count = count;
      block.over = over;
    }
    block_meets();
    count = block.count;
    over = block.over != 0;
    for (u32 i = 0; i < count; ++i) {
      const Job& job = block.jobs[i];
      copy_part<4>(job.to, job.from, job.bytes, threadIdx.x, blockDim.x);
    }
    block_meets();
    for (u32 i = threadIdx.x; front && i < count; i += kWarp) {
      const Job& job = block.jobs[i];
      tell(job.direction == 0 ? r.first.queue : r.second.queue, job.mark, job.parts, job.part);
    }
    // No lane looks for bells before the others: looks at one place are made one after the other.
    if (front) warp_meets();
  }
  if (blockIdx.x > 0 || threadIdx.x > 0) return;
  const u32 entry = server.relayed[0] + 1;
  Relayed* const last = r.first.relay + server.relayed[0] % kMessages;
  put(&last->what, quad(0, entry, 0, entry));
  put(&last->how, quad(0, entry, 0, entry));
  const u64 left = epoch << 32;
  if (directions == 2) put((u64*)(queue_1 + kLeft), left | server.message[1]);
  put((u64*)(queue_0 + kLeft), left | server.message[0]);
}
)";

}  // namespace

std::string resident() {
  using Queue = ResidentQueue;
  using Shape = ResidentShape;
  constexpr std::uint64_t kRestNs = 300;
  const std::pair<const char*, std::uint64_t> numbers[] = {
      {"kMessages", Queue::kMessages},
      {"kMostParts", Queue::kMostParts},
      {"kInside", Queue::kInside},
      {"kCopy", Queue::kCopy},
      {"kIntoArrival", Queue::kIntoArrival},
      {"kBells", offsetof(Queue, bells)},
      {"kWhole", offsetof(Queue, whole)},
      {"kParts", offsetof(Queue, parts)},
      {"kInsides", offsetof(Queue, inside)},
      {"kLeft", offsetof(Queue, left)},
      {"kLeave", offsetof(Queue, leave)},
      {"kWarpBytes", Shape::kWarpBytes},
      {"kBlockBytes", Shape::kBlockBytes},
      {"kPartBytes", Shape::kPartBytes},
      {"kRestNs", kRestNs},
  };
  std::string text;
  for (const auto& [name, value] : numbers)
    text += "constexpr u32 " + std::string(name) + " = " + std::to_string(value) + ";\n";
  return text + kText;
}

std::string motion() { return std::string(kCopy) + kFlags + resident(); }

}  // namespace nearpeak::kernels
