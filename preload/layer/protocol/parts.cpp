// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/parts.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

#include "layer/copy/pieces.hpp"
#include "layer/protocol/deliver.hpp"
#include "layer/protocol/host.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/pause.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

// Of the layer's communicator; progress() asks after 0.
constexpr int kToldTag = 1;
constexpr int kFirstTag = 2;
constexpr std::size_t kMost = 1024;  // messages that are under way

struct All {
  std::vector<OfferedSend*> leaving;
  std::vector<Receive*> arriving;
  std::size_t next = 0;     // the one of them that is looked at next
  std::vector<int> tags;    // that were used before, and are free
  int fresh = kFirstTag;    // the first that was not
  std::vector<bool> looks;  // by rank: it has said that it looks for headers,
  std::vector<bool> told;   // and this rank to it
  std::vector<MPI_Request> telling;
};
All& all = *new All;

void note(std::vector<bool>& ranks, int rank) {
  ranks.resize(static_cast<std::size_t>(world.size));
  ranks[static_cast<std::size_t>(rank)] = true;
}
bool is_noted(const std::vector<bool>& ranks, int rank) {
  return !ranks.empty() && ranks[static_cast<std::size_t>(rank)];
}

// What that rank, or any, has told.
void hear(int rank) {
  for (int there = 1; there != 0;) {
    MPI_Status status;
    NEARPEAK_REAL(MPI_Iprobe)(rank, kToldTag, world.everyone, &there, &status);
    if (there == 0) return;
    NEARPEAK_REAL(MPI_Recv)
    (nullptr, 0, calls::byte_type(), status.MPI_SOURCE, kToldTag, world.everyone,
     MPI_STATUS_IGNORE);
    note(all.looks, status.MPI_SOURCE);
  }
}

bool looks(int rank) {
  if (!is_noted(all.looks, rank)) hear(rank);
  return is_noted(all.looks, rank);
}

void look_at(Parts& parts) {
  for (; !parts.all_over(); ++parts.over) {
    int done = 0;
    NEARPEAK_REAL(MPI_Test)(&parts.requests[parts.over], &done, MPI_STATUS_IGNORE);
    if (done == 0) return;
  }
}

// The one of these bytes, which are in host memory.
void send_part(Parts& parts, int rank, std::size_t offset, std::size_t bytes) {
  const bool last = offset + bytes == parts.bytes;
  const auto call = last ? NEARPEAK_REAL(MPI_Issend) : NEARPEAK_REAL(MPI_Isend);
  MPI_Request request{};
  call(parts.at + offset, static_cast<int>(bytes), calls::byte_type(), rank, parts.tag,
       world.everyone, &request);
  parts.requests.push_back(request);
  look_at(parts);  // so that the library goes on with those before it
}

// What has come for a device without gaps.
void copy_arrived_to_device(const Target& target, Parts& parts) {
  const std::size_t come = std::min(parts.over * parts.step, parts.bytes);
  if (come == parts.moved) return;
  Mover mover(pieces_of(target.place.device), {.direction = Direction::kToDevice,
                                               .device = static_cast<char*>(target.data),
                                               .host = parts.at});
  mover.move(parts.moved, come - parts.moved);
  mover.finish();
  parts.moved = come;
}

// Not many, as some libraries have little room for messages that nobody receives yet.
std::size_t step_of(std::size_t bytes) {
  constexpr std::size_t kMostParts = 16;
  const std::size_t least =
      std::clamp<std::size_t>(world.settings.between_bytes / 2, 1, kPieceBytes);
  const std::size_t step = std::max(least, (bytes + kMostParts - 1) / kMostParts);
  return step <= kPieceBytes ? step : (step + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
}

bool fits(const Target& target, const Parts& parts) {
  return target.dense && parts.bytes <= target.room;
}

// Whether all of it is where the receive wants it.
bool has_arrived(Receive& receive) {
  Parts& parts = *receive.parts;
  const Target& target = receive.target;
  look_at(parts);
  if (fits(target, parts) && target.on_device) copy_arrived_to_device(target, parts);
  if (!parts.all_over()) return false;
  if (fits(target, parts))
    receive.note_delivered(parts.bytes);
  else
    put(receive, parts.memory.get(), parts.bytes);
  receive.parts.reset();
  std::erase(all.arriving, &receive);
  if (receive.kind == Operation::Kind::kHeldReceive && receive.has_request)
    complete_own_request(receive.request);
  return true;
}

}  // namespace

std::unique_ptr<OfferedSend> offer_in_parts(const Outgoing& message, int rank) {
  const std::size_t bytes = message.span.bytes();
  const std::size_t least = world.settings.between_bytes;
  if (least == 0 || bytes < least || all.leaving.size() == kMost || !looks(rank)) return nullptr;
  const std::size_t step = step_of(bytes);
  if (step > INT_MAX) return nullptr;
  auto send = std::make_unique<OfferedSend>(rank, message.comm);
  send->parts = std::make_unique<Parts>();
  Parts& parts = *send->parts;
  parts.bytes = bytes;
  parts.step = step;
  parts.memory = host_memory_of(bytes);
  parts.at = parts.memory.get();
  parts.tag = all.tags.empty() ? all.fresh : all.tags.back();
  send->envelope = {.nonce = world.nonce,
                    .rank = static_cast<std::uint32_t>(world.rank),
                    .slot = kInParts,
                    .number = 0,
                    .bytes = bytes,
                    .step = static_cast<std::uint32_t>(parts.step),
                    .tag = static_cast<std::uint32_t>(parts.tag),
                    .unused = {}};
  // It is complete when a receive has begun.
  const int code = NEARPEAK_REAL(MPI_Issend)(&send->envelope, static_cast<int>(kEnvelopeBytes),
                                             calls::byte_type(), message.to, message.tag,
                                             message.comm, &send->envelope_request);
  if (code != MPI_SUCCESS) return nullptr;  // as the send itself will say
  if (all.tags.empty())
    ++all.fresh;
  else
    all.tags.pop_back();
  // In this call nothing is taken of others: each would wait for parts that are not begun.
  auto* const data = static_cast<char*>(const_cast<void*>(message.data));  // NOLINT: alone read
  Mover mover(
      pieces_of(message.place.device),
      {.direction = Direction::kFromDevice, .device = data + message.span.low, .host = parts.at},
      [&](std::size_t offset, std::size_t n) {
        const std::size_t end = offset + n;
        if (end % parts.step != 0 && end != bytes) return;  // a part of several pieces
        const std::size_t begin = (end - 1) / parts.step * parts.step;
        send_part(parts, rank, begin, end - begin);
      });
  for (std::size_t offset = 0; offset < bytes; offset += parts.step)
    mover.move(offset, std::min(parts.step, bytes - offset));
  mover.finish();
  ++world.counts.staged_sends;
  ++world.counts.chunked_sends;
  Copies().note(End::kSent, Route::kParts, bytes);
  all.leaving.push_back(send.get());
  return send;
}

bool all_sent(OfferedSend& send) {
  look_at(*send.parts);
  return send.envelope_sent && send.parts->all_over();
}

void end_sent(OfferedSend& send) {
  all.tags.push_back(send.parts->tag);
  std::erase(all.leaving, &send);
}

void begin_arrival(Receive& receive, const Envelope& header) {
  receive.parts = std::make_unique<Parts>();
  Parts& parts = *receive.parts;
  const Target& target = receive.target;
  parts.bytes = header.bytes;
  parts.step = header.step;
  parts.tag = static_cast<int>(header.tag);
  if (fits(target, parts) && !target.on_device) {
    parts.at = static_cast<char*>(target.data);
  } else {
    parts.memory = host_memory_of(parts.bytes);
    parts.at = parts.memory.get();
  }
  for (std::size_t offset = 0; offset < parts.bytes; offset += parts.step) {
    const std::size_t bytes = std::min(parts.step, parts.bytes - offset);
    MPI_Request request{};
    NEARPEAK_REAL(MPI_Irecv)
    (parts.at + offset, static_cast<int>(bytes), calls::byte_type(), static_cast<int>(header.rank),
     parts.tag, world.everyone, &request);
    parts.requests.push_back(request);
  }
  if (target.on_device) ++world.counts.staged_receives;
  ++world.counts.chunked_receives;
  if (target.on_device) Copies().note(End::kInto, Route::kParts, parts.bytes);
  all.arriving.push_back(&receive);
}

bool have_arrivals() { return !all.arriving.empty(); }

void advance_arrivals() {
  constexpr std::size_t kFew = 8;
  for (std::size_t few = std::min(kFew, all.arriving.size()); few > 0; --few) {
    if (all.next >= all.arriving.size()) all.next = 0;
    if (!has_arrived(*all.arriving[all.next])) ++all.next;
  }
}

void await_arrival(Receive& receive) {
  for (Pause pause; receive.is_arriving() && !has_arrived(receive);) pause();
}

void note_far(const Receive& receive, int source, std::size_t bytes) {
  const std::size_t least = world.settings.between_bytes;
  if (least == 0 || bytes < least || !world.accepts_envelopes.load() || receive.comm_freed) return;
  const int rank = world_rank(receive.comm, source);
  if (rank < 0 || world.areas[static_cast<std::size_t>(rank)] || is_noted(all.told, rank)) return;
  note(all.told, rank);
  NEARPEAK_REAL(MPI_Issend)
  (nullptr, 0, calls::byte_type(), rank, kToldTag, world.everyone, &all.telling.emplace_back());
}

bool hear_all() {
  hear(MPI_ANY_SOURCE);
  int done = 1;
  if (!all.telling.empty()) NEARPEAK_REAL(MPI_Testall)
  (static_cast<int>(all.telling.size()), all.telling.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0 && all.arriving.empty();
}

bool drop_part() {
  MPI_Status status;
  int there = 0;
  NEARPEAK_REAL(MPI_Iprobe)(MPI_ANY_SOURCE, MPI_ANY_TAG, world.everyone, &there, &status);
  if (there == 0) return false;
  const std::size_t bytes = bytes_of(status);
  const HostMemory memory = host_memory_of(bytes);
  NEARPEAK_REAL(MPI_Recv)
  (memory.get(), static_cast<int>(bytes), calls::byte_type(), status.MPI_SOURCE, status.MPI_TAG,
   world.everyone, MPI_STATUS_IGNORE);
  return true;
}

bool have_departures() { return !all.leaving.empty(); }

void abandon_parts() {
  for (OfferedSend* const send : all.leaving) {
    Parts& parts = *send->parts;
    if (!send->envelope_sent) NEARPEAK_REAL(MPI_Request_free)(&send->envelope_request);
    for (std::size_t i = parts.over; i < parts.requests.size(); ++i)
      NEARPEAK_REAL(MPI_Request_free)(&parts.requests[i]);
    (void)parts.memory.release();  // the library may still read it
  }
}

}  // namespace nearpeak::layer
