// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/slow.hpp"

#include "layer/protocol/opening.hpp"

namespace nearpeak::layer {
namespace {

const Area* area_on_machine(int rank) {
  return rank < 0 ? nullptr : world.areas[static_cast<std::size_t>(rank)].get();
}

MemoryKind kind_of(const Located& place) {
  if (place.kind == BufferKind::kManaged) return MemoryKind::kManaged;
  if (place.shareable) return MemoryKind::kPlain;
  return place.is_chunk ? MemoryKind::kChunks : MemoryKind::kOther;
}

// Whether the device that a rank uses reaches this memory; before it uses one, nobody knows.
bool is_reached(int rank, const Located& place) {
  const Area* const area = area_on_machine(rank);
  if (area == nullptr || area->header().accepts_envelopes.load(std::memory_order_acquire) == 0)
    return false;
  return rank == world.rank || is_opened_by(rank, place) ||
         world.devices.reached_by(place.device, area->header().uuid.data());
}

Hindrance hindrance_of(const Outgoing& message, Mode mode, int rank) {
  if (mode != Mode::kUsual) return Hindrance::kMode;
  if (!type_of(message.type).dense) return Hindrance::kGaps;
  const Located& place = message.place;
  if (rank == world.rank) return Hindrance::kNoSlot;
  if (!is_opened_by(rank, place)) return Hindrance::kNotOpened;
  if (place.shareable)
    return takes_handles_of_this(rank) ? Hindrance::kNoSlot : Hindrance::kNoHandle;
  return place.is_chunk && area_of(rank).opens(world.rank) == Area::Opens::kHandles
             ? Hindrance::kNoFile
             : Hindrance::kUnshareable;
}

}  // namespace

void note_slow(Hindrance why, int rank, const Located& place, std::size_t bytes) {
  if (bytes >= SlowSends::kLeastBytes && is_reached(rank, place))
    world.slow_sends.note(why, kind_of(place), bytes);
}

void note_staged(const Outgoing& message, Mode mode) {
  if (message.span.bytes() < SlowSends::kLeastBytes) return;
  const int rank = world_rank(message.comm, message.to);
  if (rank >= 0 && world.apart.at(static_cast<std::size_t>(rank)))
    world.slow_sends.note(world.why_apart, kind_of(message.place),
                          room_of(message.n, message.type));
  else if (is_reached(rank, message.place))
    note_slow(hindrance_of(message, mode, rank), rank, message.place,
              room_of(message.n, message.type));
}

// Ranks that have nothing but managed memory accept no envelopes.
void note_managed(const Outgoing& message) {
  if (message.to < 0 || message.comm == calls::comm_null() ||
      message.type == calls::datatype_null())  // as the MPI library will say
    return;
  const std::size_t bytes = room_of(message.n, message.type);
  if (bytes < SlowSends::kLeastBytes) return;
  const int rank = world_rank(message.comm, message.to);
  if (rank != world.rank && area_on_machine(rank) != nullptr)
    world.slow_sends.note(Hindrance::kManaged, MemoryKind::kManaged, bytes);
}

}  // namespace nearpeak::layer
