// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/send.hpp"

#include <optional>
#include <string>
#include <utility>

#include "layer/copy/process.hpp"
#include "layer/datatype/types.hpp"
#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/offered.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/parts.hpp"
#include "layer/protocol/requests.hpp"
#include "layer/protocol/short_receives.hpp"

namespace nearpeak::layer {
namespace {

// Whether the rank takes envelopes, and can open memory of this device.
bool takes(int rank, const Located& place) {
  const auto& area = world.areas[static_cast<std::size_t>(rank)];
  if (!area || area->header().accepts_envelopes.load(std::memory_order_acquire) == 0) return false;
  return rank == world.rank || is_opened_by(rank, place);
}

// Whether the rank expects long messages of this one's host memory.
bool expects(int rank) {
  const auto& area = world.areas[static_cast<std::size_t>(rank)];
  return area && area->expects(world.rank);
}

std::uint32_t free_slot() {
  const std::uint32_t index = world.free_slots.take();
  if (index != FreeSlots::kNone) return index;
  advance();
  return world.free_slots.take();
}

// A slot that has the handle from a message before keeps it: the receiver's CPU has to fetch each
// line that is written. Of host memory the receiver writes one of its own there.
void show_in(Slot& slot, const Shown& shown) {
  slot.offset = shown.offset;
  if (slot.on_host == 0 && slot.allocation == shown.allocation &&
      slot.handle.is_alike(shown.exported))
    return;
  slot.allocation = shown.allocation;
  slot.handle = shown.exported;
}

// Sends the envelope; the slot says where the memory is, but for its address.
OfferedSend* offer_in(std::uint32_t index, OfferedMemory memory, const Outgoing& message,
                      int rank) {
  auto send = std::make_unique<OfferedSend>(rank, message.comm);
  send->memory = std::move(memory);
  send->memory.data = message.data;
  Slot& slot = world.area().slot(index);
  slot.address = reinterpret_cast<std::uint64_t>(message.data);
  slot.bytes = message.span.bytes();
  ++slot.number;
  slot.state.store(State::kOffered, std::memory_order_release);
  send->envelope = {.nonce = world.nonce,
                    .rank = static_cast<std::uint32_t>(world.rank),
                    .slot = index,
                    .number = slot.number,
                    .bytes = slot.bytes,
                    .step = 0,
                    .tag = 0,
                    .unused = {}};
  const int code = NEARPEAK_REAL(MPI_Isend)(&send->envelope, static_cast<int>(kEnvelopeBytes),
                                            calls::byte_type(), message.to, message.tag,
                                            message.comm, &send->envelope_request);
  if (code != MPI_SUCCESS) {  // as the send itself will say
    slot.state.store(State::kFree, std::memory_order_relaxed);
    world.free_slots.give(index);
    return nullptr;
  }
  ++world.counts.envelope_sends;
  return &keep_offered(std::move(send));
}

// Whether a short message is there sooner through host memory: to a rank whose contexts take turns
// with those of this one, which copies for it only while it waits. Else the GPU would have to
// change from one to the other.
bool comes_later(int rank, std::size_t bytes, bool waits) {
  return bytes <= kEnvelopeBytes && !waits && rank != world.rank && takes_turns_with(rank);
}
bool is_inline(int rank, const Outgoing& message, std::size_t bytes) {
  if (bytes <= world.settings.inline_bytes || !has_room(rank, bytes) ||
      comes_later(rank, bytes, message.waits))
    return true;
  return bytes <= kEnvelopeBytes && rank != world.rank &&
         !comes_again(rank, message.found.allocation);
}

const char* data_of(const Outgoing& message) {
  return static_cast<const char*>(message.data) + message.span.low;
}

}  // namespace

void locate(Outgoing& message) {
  message.span = span_of(message.n, message.type);
  message.place = world.devices.locate(message.found);
  accept_envelopes(message.place.device);
}

namespace {

// What short copies bring to the host is not worth one within the device.
constexpr std::size_t kLeastCopied = CopyMailbox::kStaged + 1;

// Sends so many bytes from memory of the layer's in the place of the application's.
OfferedSend* offer_copy(Scratch copy, std::size_t bytes, const Outgoing& message) {
  Outgoing whole = message;
  whole.is_copy = true;
  whole.data = copy.data();
  whole.n = static_cast<MPI_Count>(bytes);
  whole.type = calls::byte_type();
  whole.span = {0, static_cast<MPI_Aint>(bytes)};
  whole.place = copy.place();
  OfferedSend* const send = offer(whole, Mode::kUsual);
  if (send != nullptr) send->memory.copy = std::move(copy);
  return send;
}

// Of memory that the receiver cannot open.
OfferedSend* offer_copy(const Outgoing& message) {
  const std::size_t bytes = message.span.bytes();
  if (bytes < kLeastCopied) return nullptr;
  const Copies copies;
  Scratch copy = world.devices.copied(message.place, message.data, bytes);
  OfferedSend* const send = copy ? offer_copy(std::move(copy), bytes, message) : nullptr;
  if (send == nullptr) return nullptr;
  ++world.counts.copied_sends;
  copies.note(End::kSent, Route::kOverDevice, bytes);
  return send;
}

// Of a type with gaps: packed by a kernel.
OfferedSend* offer_packed(const Outgoing& message, Mode mode) {
  const std::size_t bytes = room_of(message.n, message.type);
  if (mode != Mode::kUsual || message.span.bytes() < kLeastCopied) return nullptr;
  const int rank = world_rank(message.comm, message.to);
  if (rank < 0 || is_inline(rank, message, bytes) || !takes(rank, message.place)) return nullptr;
  const auto layout = layout_of(message.n, message.type);
  if (!layout) return nullptr;
  Scratch packed = world.devices.pack(message.place, *layout, message.data);
  return packed ? offer_copy(std::move(packed), bytes, message) : nullptr;
}

}  // namespace

OfferedSend* offer(const Outgoing& message, Mode mode) {
  if (!type_of(message.type).dense) return offer_packed(message, mode);
  const std::size_t bytes = message.span.bytes();
  if (mode != Mode::kUsual) return nullptr;
  const int rank = world_rank(message.comm, message.to);
  if (rank < 0 || is_inline(rank, message, bytes)) return nullptr;
  if (!world.areas[static_cast<std::size_t>(rank)]) {
    auto send = offer_in_parts(message, rank);
    return send ? &keep_offered(std::move(send)) : nullptr;
  }
  if (!takes(rank, message.place)) return nullptr;
  std::optional<Shown> shown(std::in_place);  // its own memory it finds by the address
  if (rank != world.rank) shown = show_to(rank, message.place, message.data, bytes);
  if (!shown) return message.is_copy ? nullptr : offer_copy(message);
  const std::uint32_t index = free_slot();
  if (index == FreeSlots::kNone) return nullptr;
  if (bytes <= kEnvelopeBytes && world.area().place(index, bytes) == nullptr) {
    world.free_slots.give(index);  // to be set aside it would need memory of its own
    return nullptr;
  }
  Slot& slot = world.area().slot(index);
  show_in(slot, *shown);
  if (slot.on_host != 0) slot.on_host = slot.pinned = 0;  // else the line stays the receiver's, too
  OfferedMemory memory;
  memory.place = message.place;
  memory.kept = std::move(shown->kept);
  return offer_in(index, std::move(memory), message, rank);
}

OfferedSend* offer_from_host(Outgoing& message, Mode mode) {
  if (mode != Mode::kUsual || message.to < 0 || !type_of(message.type).dense) return nullptr;
  message.span = span_of(message.n, message.type);
  const std::size_t bytes = message.span.bytes();
  if (bytes < world.settings.long_bytes) return nullptr;
  const int rank = world_rank(message.comm, message.to);
  if (rank < 0 || !expects(rank) || !can_read_own(message.data, bytes)) return nullptr;
  const std::uint32_t index = free_slot();
  if (index == FreeSlots::kNone) return nullptr;
  if (!world.accepts_envelopes.load()) join();
  auto* const data = static_cast<char*>(const_cast<void*>(message.data));  // NOLINT: alone read
  const Range range{data, data + bytes};
  Slot& slot = world.area().slot(index);
  slot.on_host = 1;
  slot.pinned = world.pinned.part_of(range).bytes() > 0 ? 1 : 0;
  OfferedMemory memory;
  memory.on_host = true;
  memory.used_before = world.pinned.used(range);
  return offer_in(index, std::move(memory), message, rank);
}

HostMemory staged(const Outgoing& message) {
  HostMemory memory = host_memory_of(message.span.bytes());
  const Copies copies;
  copy_to_host(message.place, memory.get(), data_of(message), message.span.bytes());
  ++world.counts.staged_sends;
  copies.note(End::kSent, Route::kThroughHost, room_of(message.n, message.type));
  return memory;
}

int keep_offered_by_request(OfferedSend& send, MPI_Request* request) {
  const int code = start_own_request(nullptr, request);
  if (code != MPI_SUCCESS) end_job("MPI_Grequest_start failed");
  keep_by(send, *request);
  send.in_call = false;
  return code;
}

void await_offered(OfferedSend& send) {
  constexpr unsigned kLooks = 64;
  unsigned looks = 0;
  for (Waiting pause;; pause()) {
    const Guard guard;
    Now now;
    advance_awaited(send, now);
    if (busy()) advance();
    if (send.complete) return release_offered(send);
    if (++looks % kLooks == 0) progress();
  }
}

void keep_persistent(HostMemory memory, const Outgoing& message, MPI_Request request) {
  auto send = std::make_unique<StagedSend>(std::move(memory), message.comm);
  send->persistent = true;
  send->started = false;
  send->data = data_of(message);
  send->bytes = message.span.bytes();
  send->receiver = world_rank(message.comm, message.to);
  keep(std::move(send), request);
}

void keep_staged(HostMemory memory, MPI_Comm comm, MPI_Request request) {
  if (!is_complete(request)) keep(std::make_unique<StagedSend>(std::move(memory), comm), request);
}

}  // namespace nearpeak::layer
