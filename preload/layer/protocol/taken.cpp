// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/taken.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/deliver.hpp"
#include "layer/protocol/host.hpp"
#include "layer/protocol/parts.hpp"
#include "layer/protocol/receive_copies.hpp"
#include "layer/protocol/ring.hpp"
#include "layer/protocol/short_receives.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

Ring<PostedReceive>& open_receives = *new Ring<PostedReceive>;  // that may still get an envelope
bool landing = false;

// Whether others may come meanwhile, where the copy of one may be under way.
bool may_wait(Until until) {
  return until == Until::kUnderWay && (!open_receives.empty() || have_copies());
}

OfferedData reached(const Envelope& envelope, const Slot& slot, std::size_t bytes) {
  if (envelope.rank == static_cast<std::uint32_t>(world.rank)) {
    const auto* const data = reinterpret_cast<const char*>(slot.address);
    return {world.devices.locate(data), data, envelope.rank};
  }
  check_part(slot.handle, slot.offset, bytes);
  const char* const opened =
      world.devices.opened(world.home, envelope.rank, slot.allocation, slot.handle);
  return {Devices::place_of_opened(world.home, slot.handle), opened + slot.offset, envelope.rank};
}

// It goes where a receive without gaps wants it. Where others come, too, they are copied together.
Route fetch(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes, Until until) {
  const Target& target = receive.target;
  Devices& devices = world.devices;
  const bool later = may_wait(until);
  if (!target.on_device) {
    devices.copy_to_host(from.place, target.data, from.data, bytes);
  } else if (later && bytes <= PersistentCopyKernel::kMost &&
             gather_copy(receive, slot, from, bytes)) {
    return Route::kGathered;
  } else if (until != Until::kUnderWay || bytes <= Devices::kShort) {
    devices.copy_between_devices(target.place, target.data, from.place, from.data, bytes,
                                 from.rank);
  } else if (later ||
             !devices.carry(target.place, target.data, from.place, from.data, bytes, from.rank)) {
    begin_copy(receive, slot, from, bytes);
  }
  return Route::kDirectly;
}

// The same of a type with gaps. False where a kernel does not do it.
bool fetch_apart(const Target& target, const OfferedData& from, std::size_t bytes) {
  if (!target.on_device) return false;
  const auto layout = layout_of(target.n, target.type);
  return layout &&
         world.devices.unpack(target.place, *layout, target.data, from.place, from.data, bytes);
}

// By the copy proxy of the GPU, where that is another rank.
bool is_fetched(const Target& target, int sender, const Slot& slot, std::size_t bytes) {
  if (!target.dense) return false;
  return target.on_device
             ? copied_to_device_by_proxy(target.place, target.data, sender, slot, bytes)
             : copied_to_host_by_proxy(target.data, sender, slot, bytes);
}

// What its sender has set aside; it stays so until it is taken.
void take_set_aside(Receive& receive, const Envelope& envelope, const Area& area, Slot& slot) {
  slot.state.store(State::kTaken, std::memory_order_relaxed);
  if (slot.aside == kInPlace) {
    const char* const place = area.place(envelope.slot, envelope.bytes);
    if (place == nullptr) end_job("a message was set aside where it has no room");
    put(receive, place, envelope.bytes);
  } else {
    const Shared aside(process_of_rank(static_cast<int>(envelope.rank)), slot.aside,
                       envelope.bytes);
    put(receive, aside.data(), envelope.bytes);
  }
}

// Between a device and the host, where others come, too. False where nothing copies several.
bool take_together(Receive& receive, const Envelope& envelope, Slot& slot, std::size_t bytes) {
  const Target& target = receive.target;
  const bool from_host = slot.on_host != 0;
  // From pinned memory its sender moves longer ones faster.
  constexpr std::size_t kMostPinned = std::size_t{64} << 10;
  const std::size_t most = slot.pinned != 0 ? kMostPinned : PersistentCopyKernel::kMost;
  if (!target.dense || target.on_device != from_host || bytes == 0 || bytes > most) return false;
  if (!from_host) return gather_copy_to_host(receive, slot, reached(envelope, slot, bytes), bytes);
  HostMemory landed = world.devices.landing(target.place.device, bytes);
  if (!landed) return false;
  const auto* const there = reinterpret_cast<const void*>(slot.address);
  process_of_rank(static_cast<int>(envelope.rank)).read(landed.get(), there, bytes);
  if (begin_copy_to_device(receive, landed, bytes))
    receive.landed = std::move(landed);
  else
    copy_to_device(target.place, target.data, landed.get(), bytes);
  return true;
}

// What its sender has where it was. The route that it takes.
Route take_offered(Receive& receive, const Envelope& envelope, Slot& slot, Until until) {
  const Target& target = receive.target;
  const std::size_t fits = std::min<std::size_t>(envelope.bytes, target.room);
  if (may_wait(until) && take_together(receive, envelope, slot, fits)) {
    receive.note_delivered(envelope.bytes);
    return Route::kGathered;
  }
  if (bring(receive, envelope, slot)) return target.dense ? Route::kPieces : Route::kThroughHost;
  Route route = Route::kDirectly;
  // The proxy copies one after the other; this rank's own copies of several are under way together.
  const bool by_itself = may_wait(until) && target.on_device && fits > Devices::kShort;
  if (by_itself || !is_fetched(target, static_cast<int>(envelope.rank), slot, fits)) {
    const OfferedData from = reached(envelope, slot, fits);
    const bool one_copy = !target.on_device || Devices::is_one_copy(target.place, from.place);
    if (target.dense && one_copy) {
      route = fetch(receive, slot, from, fits, until);
    } else if (!one_copy || !fetch_apart(target, from, fits)) {
      route = Route::kThroughHost;
      const HostMemory packed = host_memory_of(fits);
      world.devices.copy_to_host(from.place, packed.get(), from.data, fits);
      put(receive, packed.get(), fits);
    }
  }
  receive.note_delivered(envelope.bytes);
  return route;
}

// Whether what has been received begins as an envelope, as far as it has come.
bool may_be_envelope(const PostedReceive& receive) {
  // So may its memory be freed, once the application has the message.
  if (receive.request_freed) return false;
  const Target& target = receive.target;
  if (receive.host) return begins_as_envelope(receive.host.get(), world.nonce);
  return target.takes_envelope() && target.room >= kEnvelopeBytes &&
         begins_as_envelope(target.data, world.nonce);
}

// What the MPI library has received where the application wants it.
void settle_in_place(PostedReceive& receive, const MPI_Status& status) {
  Envelope envelope;
  // Of a request that the application has freed the memory may be gone where the message came in
  // it: only an envelope, which nobody else takes, is looked for there, and so in a message that is
  // as long.
  const bool may_look = !receive.request_freed || bytes_of(status) == kEnvelopeBytes;
  if (may_look && receive.accepts_envelope() &&
      world.accepts_envelopes.load(std::memory_order_relaxed) &&
      got_envelope(receive.target, status, envelope)) {
    receive.overwritten.put_back(receive.target, envelope.bytes);
    take(receive, envelope, Until::kUnderWay);
  }
}

// What has come through host memory into that of a device, where others come, too.
bool begin_copy_up(PostedReceive& receive, std::size_t bytes) {
  const Target& target = receive.target;
  if (!target.on_device || !target.dense || !may_wait(Until::kUnderWay)) return false;
  landing = true;
  if (!begin_copy_to_device(receive, receive.host, std::min(bytes, target.room))) return false;
  receive.note_delivered(bytes);
  return true;
}

// What it has received in memory of the layer's.
void settle_from_host(PostedReceive& receive, const MPI_Status& status) {
  const char* const memory = receive.host.get();
  const bool begins = begins_as_envelope(memory, world.nonce);
  if (!begins) {  // else it was not cancelled, as make_ready() has left no envelope there
    int cancelled = 0;
    NEARPEAK_REAL(MPI_Test_cancelled)(&status, &cancelled);
    if (cancelled != 0) return;
  }
  const std::size_t bytes = bytes_of(status);
  if (begins && bytes == kEnvelopeBytes) {
    take(receive, envelope_at(memory), Until::kUnderWay);
    if (!receive.persistent) receive.host.reset();
    return;
  }
  const Copies copies;
  if (!begin_copy_up(receive, bytes)) put(receive, memory, bytes);
  if (!receive.target.on_device) return;
  if (watches_short_receives() && !receive.comm_freed)
    note_short_message(world_rank(receive.comm, status.MPI_SOURCE), bytes);
  ++world.counts.staged_receives;
  copies.note(End::kInto, Route::kThroughHost, bytes);
  note_staged_receive(receive, status.MPI_SOURCE, bytes);
  note_far(receive, status.MPI_SOURCE, bytes);
}

}  // namespace

// It takes less than a probe.
void have_library_go_on() {
  int done = 0;
  NEARPEAK_REAL(MPI_Test)(&world.never, &done, MPI_STATUS_IGNORE);
}

void make_ready(PostedReceive& receive) {
  if (receive.host)
    std::fill_n(receive.host.get(), sizeof(Nonce), '\0');
  else
    receive.overwritten.keep(receive.target);
}

bool land_together() { return landing; }

void open_receive(PostedReceive& receive) {
  receive.started = true;
  receive.settled = receive.delivered = false;
  receive.error = MPI_SUCCESS;
  open_receives.add(receive);
}

void close_receive(PostedReceive& receive) {
  if (receive.settled || !receive.started) return;
  receive.settled = true;
  open_receives.remove(receive);
}

void settle(PostedReceive& receive, const MPI_Status& status) {
  if (receive.settled || !receive.started) return;
  close_receive(receive);
  if (receive.host)
    settle_from_host(receive, status);
  else
    settle_in_place(receive, status);
}

namespace {

// Has this CPU fetch the slot for itself while the library is asked: its sender has written it, and
// to read it first and write it then would fetch it twice.
void fetch_slot_of(const PostedReceive& receive) {
  const Envelope envelope = envelope_at(receive.host ? receive.host.get() : receive.target.data);
  if (envelope.rank >= world.areas.size() || envelope.slot >= kSlots) return;
  const auto& area = world.areas[envelope.rank];
  if (!area) return;
  const Slot* const slot = &area->slot(envelope.slot);
#ifdef __x86_64__
  asm volatile("prefetchw %0" ::"m"(slot->state));  // does nothing on CPUs that do not have it
#else
  constexpr int kToWrite = 1;
  __builtin_prefetch(slot, kToWrite);
#endif
}

}  // namespace

bool have_open_receives() { return !open_receives.empty(); }

// Not of a persistent one: MPICH 5 takes its request for one that is not started once it was asked
// after in this way.
void advance_receive(PostedReceive& receive) {
  if (receive.persistent) return;
  if (may_be_envelope(receive)) fetch_slot_of(receive);
  int done = 0;
  MPI_Status status;
  NEARPEAK_REAL(MPI_Request_get_status)(receive.request, &done, &status);
  if (done != 0) settle(receive, status);
}

void advance_receives() {
  // To ask after one has the library go on, and give way where there is nothing. Only what has an
  // envelope is asked after: of others MPICH 5 raises an error of the message here, and not on the
  // communicator. It receives one message each time: as long as they come in the order of their
  // receives, it goes on.
  const Devices::Look look(world.devices);
  constexpr int kMost = 64;
  PostedReceive* next = open_receives.first();
  for (int i = 0; i < kMost && next != nullptr; ++i) {
    PostedReceive& receive = *next;
    next = receive.after;
    if (!may_be_envelope(receive)) have_library_go_on();
    if (!may_be_envelope(receive)) break;
    advance_receive(receive);
  }
  // Those that come before others.
  open_receives.some([](PostedReceive& receive) {
    if (may_be_envelope(receive)) advance_receive(receive);
  });
  advance_batches(have_open_receives());
}

bool got_envelope(const Target& target, const MPI_Status& status, Envelope& envelope) {
  if (target.room < kEnvelopeBytes) return false;  // its memory may be none
  // The first is cheaper, and almost always the answer.
  if (!begins_as_envelope(target.data, world.nonce) || bytes_of(status) != kEnvelopeBytes)
    return false;
  envelope = envelope_at(target.data);
  return true;
}

void take(Receive& receive, const Envelope& envelope, Until until) {
  if (is_header(envelope)) return begin_arrival(receive, envelope);
  const auto* const area =
      envelope.rank < world.areas.size() ? world.areas[envelope.rank].get() : nullptr;
  if (area == nullptr)
    end_job("an envelope came from rank " + std::to_string(envelope.rank) +
            ", whose memory it does not have");
  Slot& slot = area->slot(envelope.slot);
  if (slot.number != envelope.number)
    end_job("an envelope of rank " + std::to_string(envelope.rank) + " came twice");
  const Copies copies;
  const bool of_device = slot.on_host == 0;
  Route route = Route::kAside;
  State expected = State::kOffered;
  if (slot.state.compare_exchange_strong(expected, State::kTaken))
    route = take_offered(receive, envelope, slot, until);
  else
    take_set_aside(receive, envelope, *area, slot);
  if (receive.copied_slot == nullptr) slot.state.store(State::kDone, std::memory_order_release);
  ++world.counts.envelope_receives;
  const bool on_device = receive.target.on_device;
  if (on_device || of_device)
    copies.note(on_device ? End::kInto : End::kFrom, route, envelope.bytes);
}

void await_message(Receive& receive) {
  await_arrival(receive);
  wait_copy(receive);
}

}  // namespace nearpeak::layer
