// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/host.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "layer/copy/pieces.hpp"
#include "layer/copy/process.hpp"
#include "layer/protocol/deliver.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/protocol/pause.hpp"

namespace nearpeak::layer {
namespace {

using Clock = std::chrono::steady_clock;

// The part of memory of this process that is pinned. One that was used before is pinned first.
Range pinned_of(int device, const Range& bytes, bool again) {
  const Range part = world.pinned.part_of(bytes);
  if (part.bytes() > 0 || !again || world.settings.host != HostWay::kKept) return part;
  world.pinned.keep(device, bytes);
  return world.pinned.part_of(bytes);
}

// So that two CPUs and the copy engine have something to do, and none of them too often.
std::size_t step_of(std::size_t message) {
  constexpr std::size_t kLeast = std::size_t{32} << 10;
  return std::clamp(message / 8, kLeast, kPieceBytes);
}

// Moves what the other end leaves of a message. `ends()` is asked when a piece is left: from then
// on until it is moved the other end waits, and has its memory.
template <typename MakeEnds>
void move_rest(Slot& slot, int device, const Range& pinned, const MakeEnds& ends) {
  // The copy engine needs no help with what is pinned.
  const std::size_t step = pinned.bytes() > 0 ? slot.fits : step_of(slot.fits);
  std::size_t at = slot.claimed.fetch_add(step, std::memory_order_relaxed);
  if (at >= slot.fits) return;
  const Ends both = ends();  // first: the device may be taken again in it, with new pieces
  Mover mover(pieces_of(device), both);
  std::size_t done = 0;
  do {
    const std::size_t bytes = std::min(step, slot.fits - at);
    mover.move(at, bytes);
    done += bytes;
    at = slot.claimed.fetch_add(step, std::memory_order_relaxed);
  } while (at < slot.fits);
  mover.finish();
  slot.moved.fetch_add(done, std::memory_order_release);
}

void await_moved(const Slot& slot) {
  for (Pause pause; slot.moved.load(std::memory_order_acquire) < slot.fits;) pause();
}

// A sender whose memory is pinned moves all as soon as it looks.
void await_sender(const Slot& slot) {
  constexpr std::chrono::microseconds kMost{20};
  const auto begin = Clock::now();
  while (slot.claimed.load(std::memory_order_relaxed) == 0 && Clock::now() - begin < kMost) {
  }
}

void begin_moving(Slot& slot, std::size_t bytes) {
  slot.fits = bytes;
  slot.claimed.store(0, std::memory_order_relaxed);
  slot.moved.store(0, std::memory_order_relaxed);
}

void share(Slot& slot) { slot.state.store(State::kShared, std::memory_order_release); }

// What that rank has on a device.
char* opened(int rank, const Slot& slot) {
  check_part(slot.handle, slot.offset, slot.fits);
  return world.devices.opened(world.home, static_cast<std::uint32_t>(rank), slot.allocation,
                              slot.handle) +
         slot.offset;
}

// Memory of a device here, if that rank can open it.
std::optional<Shown> shown_to(int rank, const Located& place, const void* data, std::size_t bytes) {
  const Header& header = area_of(rank).header();
  if (header.accepts_envelopes.load(std::memory_order_acquire) == 0 || !is_opened_by(rank, place))
    return std::nullopt;
  return show_to(rank, place, data, bytes);
}

void bring_up(const Target& target, int sender, Slot& slot, std::size_t bytes) {
  const Located& place = target.place;
  auto* const host = reinterpret_cast<char*>(slot.address);
  auto* const device = static_cast<char*>(target.data);
  begin_moving(slot, bytes);
  const auto shown = shown_to(sender, place, device, bytes);
  if (shown) {
    slot.allocation = shown->allocation;
    slot.offset = shown->offset;
    slot.handle = shown->exported;
    share(slot);
    if (slot.pinned != 0) await_sender(slot);
  }
  move_rest(slot, place.device, {}, [&] {
    return Ends{.direction = Direction::kToDevice,
                .device = device,
                .host = host,
                .process = &process_of_rank(sender)};
  });
  await_moved(slot);
}

void bring_down(const Target& target, int sender, Slot& slot, std::size_t bytes) {
  auto* const host = static_cast<char*>(target.data);
  const Range range{host, host + bytes};
  const bool again = world.pinned.used(range);
  begin_moving(slot, bytes);
  Range pinned = world.pinned.part_of(range);
  if (pinned.bytes() == 0) {
    slot.target = reinterpret_cast<std::uint64_t>(host);
    if (can_read_own(host, bytes)) share(slot);
    pinned = pinned_of(world.home, range, again);
  }
  move_rest(slot, world.home, pinned, [&] {
    return Ends{.direction = Direction::kFromDevice,
                .device = opened(sender, slot),
                .host = host,
                .pinned = pinned};
  });
  await_moved(slot);
}

}  // namespace

Pieces& pieces_of(int device) {
  Device& of = world.devices.device_of(device);  // first: after a reset there are none
  auto& pieces = world.pieces[device];
  if (!pieces) {
    if (!world.copy_helpers && world.settings.copy_helpers > 0)
      world.copy_helpers = std::make_unique<CopyHelpers>(world.settings.copy_helpers);
    pieces = std::make_unique<Pieces>(of, world.copy_helpers.get());
  }
  return *pieces;
}

void join() {
  if (world.settings.host == HostWay::kStaged) return;
  const Guard guard;
  const int device = world.devices.current();
  if (device >= 0) accept_envelopes(device);
}

bool reaches(int rank) {
  enum Answer : char { kUnknown, kNo, kYes };
  static auto& answers = *new std::vector<char>(static_cast<std::size_t>(world.size), kUnknown);
  char& answer = answers[static_cast<std::size_t>(rank)];
  if (answer == kUnknown) {
    const auto* const there = reinterpret_cast<const void*>(area_of(rank).header().self);
    answer = can_read(process_of_rank(rank), there, sizeof(Header)) ? kYes : kNo;
  }
  return answer == kYes;
}

void note_staged_receive(const Receive& receive, int source, std::size_t bytes) {
  if (bytes < world.settings.long_bytes || world.settings.host == HostWay::kStaged ||
      !world.accepts_envelopes.load() || receive.comm_freed)
    return;
  const int rank = world_rank(receive.comm, source);
  if (rank < 0 || rank == world.rank || !world.areas[static_cast<std::size_t>(rank)] ||
      !reaches(rank))
    return;
  world.area().expect(rank, true);
  area_of(rank).header().expected.store(1, std::memory_order_relaxed);
}

bool bring(Receive& receive, const Envelope& envelope, Slot& slot) {
  const Target& target = receive.target;
  const std::size_t bytes = std::min<std::size_t>(envelope.bytes, target.room);
  const auto sender = static_cast<int>(envelope.rank);
  const bool from_host = slot.on_host != 0;
  if (!from_host && (target.on_device || !target.dense || sender == world.rank ||
                     bytes < world.settings.long_bytes || world.settings.host == HostWay::kStaged))
    return false;
  if (from_host && !target.on_device) world.area().expect(sender, false);
  const auto* const there = reinterpret_cast<const void*>(slot.address);
  if (!target.dense) {
    const HostMemory packed = host_memory_of(bytes);
    process_of_rank(sender).read(packed.get(), there, bytes);
    put(receive, packed.get(), bytes);
  } else if (!from_host) {
    bring_down(target, sender, slot, bytes);
  } else if (target.on_device) {
    bring_up(target, sender, slot, bytes);
  } else {
    process_of_rank(sender).read(target.data, there, bytes);
  }
  receive.note_delivered(envelope.bytes);
  return true;
}

void help(OfferedSend& send, Slot& slot) {
  if (slot.claimed.load(std::memory_order_relaxed) >= slot.fits) return;
  auto* const own = static_cast<char*>(const_cast<void*>(send.memory.data));  // NOLINT: alone read
  if (slot.on_host == 0) {
    if (!reaches(send.receiver)) return;
    move_rest(slot, send.memory.place.device, {}, [&] {
      return Ends{.direction = Direction::kFromDevice,
                  .device = own,
                  .host = reinterpret_cast<char*>(slot.target),
                  .process = &process_of_rank(send.receiver)};
    });
    return;
  }
  const Range pinned = pinned_of(world.home, {own, own + slot.fits}, send.memory.used_before);
  send.memory.used_before = false;
  move_rest(slot, world.home, pinned, [&] {
    return Ends{.direction = Direction::kToDevice,
                .device = opened(send.receiver, slot),
                .host = own,
                .pinned = pinned};
  });
}

}  // namespace nearpeak::layer
