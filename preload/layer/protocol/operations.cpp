// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/operations.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "layer/datatype/types.hpp"
#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/host.hpp"
#include "layer/protocol/opening.hpp"
#include "layer/protocol/request_table.hpp"
#include "layer/protocol/sendrecv.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

using Clock = std::chrono::steady_clock;

// Operations in a ring of their own, of which each is in one at most.
class Ring {
 public:
  bool empty() const { return first_ == nullptr; }
  void add(Operation& operation) {
    operation.after = nullptr;
    operation.before = last_;
    (last_ == nullptr ? first_ : last_->after) = &operation;
    last_ = &operation;
  }
  void remove(Operation& operation) {
    (operation.before == nullptr ? first_ : operation.before->after) = operation.after;
    (operation.after == nullptr ? last_ : operation.after->before) = operation.before;
    operation.before = operation.after = nullptr;
  }
  // Does `what` with the first few, which are the last then, but for those that it removes.
  template <typename What>
  void some(const What& what) {
    constexpr int kMost = 64;
    Operation* const last = last_;
    for (int i = 0; i < kMost && first_ != nullptr; ++i) {
      Operation& operation = *first_;
      remove(operation);
      add(operation);
      const bool end = &operation == last;
      what(operation);
      if (end) break;
    }
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

struct All {
  RequestTable<MPI_Request, Operation> table;
  Ring receives;  // that may still get an envelope
  Ring offered;
  std::uint64_t freed = 0;  // by the application, and not yet complete
  std::uint64_t unchecked = 0;
  std::map<int, Clock::time_point> taken_at;  // by receiver: the last of its sends
  std::vector<Operation*> copying;            // in the order in which their copies began
  int waiting = 0;
};
All& tracked = *new All;

void drop(Operation& operation) {
  wait_copy(operation);
  if (operation.unchecked) --tracked.unchecked;
  if (operation.owns_type) free_type(&operation.target.type);
  delete &operation;
}

// Ends the looking for an envelope.
void close_receive(Operation& operation) {
  if (operation.settled || operation.kind != Operation::Kind::kReceive || !operation.active) return;
  operation.settled = true;
  tracked.receives.remove(operation);
}

Slot& slot_of(const Operation& offered) { return world.area().slot(offered.envelope.slot); }

void complete_for_application(Operation& operation) {
  operation.done = true;
  if (operation.has_request) NEARPEAK_REAL(MPI_Grequest_complete)(operation.request);
}

// How long a receiver is waited for: a short message is set aside soon, as many applications depend
// on its send being complete.
Clock::duration patience_for(const Operation& operation) {
  constexpr std::chrono::microseconds kShort{5};
  // The proxy that is to set it aside may be the receiver, which is about to take it.
  constexpr std::chrono::microseconds kByProxy{100};
  const Clock::duration usual = world.settings.patience;
  if (operation.envelope.bytes > kPlaceBytes) return usual;
  return std::min<Clock::duration>(usual, has_copy_proxy() ? kByProxy : kShort);
}

// The data goes where the receiver finds it whatever this rank does next.
void set_aside(Operation& operation) {
  const std::size_t bytes = operation.envelope.bytes;
  char* const place = world.area().place(operation.envelope.slot, bytes);
  std::unique_ptr<Shared> memory;
  try {
    if (place == nullptr) memory = std::make_unique<Shared>(bytes);
  } catch (const std::exception&) {
    operation.since = Clock::now();  // later there may be some
    return;
  }
  void* const there = place != nullptr ? place : memory->data();
  if (operation.on_host)
    std::memcpy(there, operation.data, bytes);
  else
    copy_to_host(operation.place, there, operation.data, bytes);
  Slot& slot = slot_of(operation);
  slot.aside = place != nullptr ? kInPlace : memory->fd();
  State expected = State::kOffered;
  if (!slot.state.compare_exchange_strong(expected, State::kAside)) return;  // it is being taken
  operation.aside = std::move(memory);
  ++world.counts.set_aside_sends;
  complete_for_application(operation);
}

// From when on a receiver is waited for. One that takes others will come to this one, but not for
// ever: what it takes may be what the application sends it until this one is complete.
Clock::time_point since(const Operation& operation, Clock::time_point taken) {
  const auto latest = operation.since + 10 * Clock::duration(world.settings.patience);
  return std::max(operation.since, std::min(taken, latest));
}

// In parts: where a receiver has the header and takes no part, it is in a call that the layer does
// not see.
void look_at_leaving(Operation& operation) {
  const std::size_t before = operation.in_parts->over;
  const bool over = all_sent(operation);
  if (operation.done || !operation.sent) return;
  if (over) return complete_for_application(operation);
  const auto now = Clock::now();
  auto& taken = tracked.taken_at[operation.to];
  if (operation.in_parts->over > before) taken = now;
  if (operation.awaited && now - since(operation, taken) > world.settings.patience) {
    ++world.counts.set_aside_sends;
    complete_for_application(operation);
  }
}

void look_at_offered(Operation& operation) {
  if (!operation.sent) {
    int done = 0;
    NEARPEAK_REAL(MPI_Test)(&operation.sending, &done, MPI_STATUS_IGNORE);
    operation.sent = done != 0;
    if (operation.in_parts && operation.sent) operation.since = Clock::now();
  }
  if (operation.in_parts) return look_at_leaving(operation);
  Slot& slot = slot_of(operation);
  const State state = slot.state.load(std::memory_order_acquire);
  if (operation.done || !operation.sent) return;
  if (state == State::kDone) {
    tracked.taken_at[operation.to] = Clock::now();
    complete_for_application(operation);
  } else if (state == State::kShared) {
    help(operation, slot);
  } else if (state == State::kOffered && operation.awaited) {
    if (Clock::now() - since(operation, tracked.taken_at[operation.to]) > patience_for(operation))
      set_aside(operation);
  }
}

// One that nobody has any more, and that the receiver has, ends.
void end_offered(Operation& operation) {
  if (!operation.done || !operation.sent || operation.has_request || operation.kept) return;
  if (operation.in_parts) {
    if (!operation.in_parts->all_over()) return;
    end_sent(operation);
    tracked.offered.remove(operation);
    return drop(operation);
  }
  Slot& slot = slot_of(operation);
  if (slot.state.load(std::memory_order_acquire) != State::kDone) return;
  slot.state.store(State::kFree, std::memory_order_relaxed);
  world.free_slots.give(operation.envelope.slot);
  tracked.offered.remove(operation);
  drop(operation);
}

// Whether what has been received begins as an envelope, as far as it has come.
bool may_be_envelope(const Operation& operation) {
  if (operation.freed) return false;  // so may its memory be, once the application has the message
  const Target& target = operation.target;
  if (operation.memory) return begins_as_envelope(operation.memory.get(), world.nonce);
  return target.takes_envelope() && target.room >= kEnvelopeBytes &&
         begins_as_envelope(target.data, world.nonce);
}

// Not of a persistent one: MPICH 5 takes its request for one that is not started once it was asked
// after in this way.
void advance_receive(Operation& operation) {
  if (operation.persistent) return;
  int done = 0;
  MPI_Status status;
  NEARPEAK_REAL(MPI_Request_get_status)(operation.request, &done, &status);
  if (done != 0) settle(operation, status);
}

// Of those that the application has freed.
void end_freed(Operation& operation) {
  MPI_Request request = operation.request;
  int done = 0;
  MPI_Status status;
  NEARPEAK_REAL(MPI_Request_get_status)(request, &done, &status);
  if (done == 0) return;
  settle(operation, status);
  if (is_arriving(operation)) return;
  tracked.table.drop(request);
  NEARPEAK_REAL(MPI_Request_free)(&request);
  --tracked.freed;
  drop(operation);
}

void advance_freed() {
  std::vector<Operation*> freed;
  tracked.table.each([&](Operation& operation) {
    if (operation.freed) freed.push_back(&operation);
  });
  for (Operation* const operation : freed) end_freed(*operation);
}

}  // namespace

Operation* known(MPI_Request request) { return tracked.table.find(request); }

bool is_complete(MPI_Request request) {
  int done = 0;
  NEARPEAK_REAL(MPI_Request_get_status)(request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

namespace {

void put_in_table(Operation& operation, MPI_Request request) {
  operation.request = request;
  operation.has_request = true;
  // One that was completed by a call that passed by: the MPI library has given its handle again.
  Operation* const lost = tracked.table.put(request, &operation);
  if (lost == nullptr) return;
  close_receive(*lost);
  if (lost->kind == Operation::Kind::kOffered) {
    lost->has_request = false;
    lost->done = true;
    end_offered(*lost);
  } else {
    drop(*lost);
  }
}

}  // namespace

Operation& keep(std::unique_ptr<Operation> operation, MPI_Request request) {
  if (operation->unchecked) ++tracked.unchecked;
  Operation& kept = *operation.release();
  put_in_table(kept, request);
  return kept;
}

void rename(Operation& operation, MPI_Request request) {
  if (operation.request == request) return;
  tracked.table.drop(operation.request);
  put_in_table(operation, request);
}

void clear(Operation& operation) {
  if (operation.memory) std::fill_n(operation.memory.get(), sizeof(Nonce), '\0');
}

void open_receive(Operation& operation) {
  operation.active = true;
  operation.settled = operation.replaced = operation.awaited = false;
  operation.error = MPI_SUCCESS;
  tracked.receives.add(operation);
}

Operation& keep_offered(std::unique_ptr<Operation> operation) {
  Operation& kept = *operation.release();
  kept.kept = true;
  tracked.offered.add(kept);
  return kept;
}

void release_offered(Operation& operation) {
  operation.kept = false;
  end_offered(operation);
}

bool has_unchecked_receives() { return tracked.unchecked > 0; }

bool busy() {
  return tracked.freed > 0 || !tracked.copying.empty() || have_arrivals() || is_asked() ||
         have_sendrecvs() ||
         (world.accepts_envelopes.load(std::memory_order_relaxed) && !tracked.receives.empty());
}

void wait_copy(Operation& operation) {
  await_arrival(operation);
  if (operation.copying == nullptr) return;
  world.devices.wait_copy(operation.lane);
  std::erase(tracked.copying, &operation);
  std::exchange(operation.copying, nullptr)->state.store(State::kDone, std::memory_order_release);
}

namespace {

void wait_copies() {
  while (!tracked.copying.empty()) wait_copy(*tracked.copying.front());
}

// Those of which the copy has ended by itself.
void note_ended_copies() {
  for (std::size_t i = 0; i < tracked.copying.size();) {
    if (world.devices.copy_ended(tracked.copying[i]->lane))
      wait_copy(*tracked.copying[i]);
    else
      ++i;
  }
}

}  // namespace

Waiting::Waiting() {
  const Guard guard;
  ++tracked.waiting;
}

void Waiting::end() {
  if (std::exchange(ended_, true)) return;
  const Guard guard;
  if (--tracked.waiting > 0) return;
  try {
    wait_copies();
  } catch (const std::exception& error) {
    end_job(std::string("a copy of a message failed: ") + error.what());
  }
}

namespace {

// By asking after a receive that is never complete: less than to probe.
void have_library_go_on() {
  int done = 0;
  NEARPEAK_REAL(MPI_Test)(&world.never, &done, MPI_STATUS_IGNORE);
}

}  // namespace

void advance() {
  if (is_asked()) serve();
  note_ended_copies();
  tracked.offered.some([](Operation& operation) {
    look_at_offered(operation);
    end_offered(operation);
  });
  if (world.accepts_envelopes.load(std::memory_order_relaxed)) {
    // To ask after one has the library go on, and give way where there is nothing. Only what has an
    // envelope is asked after: of others MPICH 5 raises an error of the message here, and not on
    // the communicator.
    bool went_on = false;
    tracked.receives.some([&](Operation& operation) {
      if (may_be_envelope(operation))
        advance_receive(operation);
      else if (!std::exchange(went_on, true))
        have_library_go_on();
    });
  }
  advance_arrivals();
  if (have_sendrecvs()) advance_sendrecvs();
  if (tracked.freed > 0) advance_freed();
  if (tracked.waiting == 0) wait_copies();
}

void advance_asked(Operation& operation) {
  if (!operation.settled) advance_receive(operation);
  if (tracked.waiting == 0) wait_copies();
}

void progress() {
  int there = 0;
  NEARPEAK_REAL(MPI_Iprobe)(MPI_ANY_SOURCE, 0, world.everyone, &there, MPI_STATUS_IGNORE);
}

void advance_awaited(Operation& operation) {
  if (operation.done) return;
  if (!operation.awaited) {
    operation.awaited = true;
    operation.since = Clock::now();
  }
  look_at_offered(operation);
}

std::size_t bytes_of(const MPI_Status& status) {
  MPI_Count bytes = 0;
  NEARPEAK_REAL(MPI_Get_elements_x)(&status, calls::byte_type(), &bytes);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

bool got_envelope(const Target& target, const MPI_Status& status, Envelope& envelope) {
  if (target.room < kEnvelopeBytes) return false;  // its memory may be none
  // The first is cheaper, and almost always the answer.
  if (!begins_as_envelope(target.data, world.nonce) || bytes_of(status) != kEnvelopeBytes)
    return false;
  envelope = envelope_at(target.data);
  return true;
}

void put(Operation& operation, const void* from, std::size_t bytes) {
  const Target& target = operation.target;
  const std::size_t fits = std::min(bytes, target.room);
  if (bytes > target.room) operation.error = MPI_ERR_TRUNCATE;
  if (!target.dense && target.on_device) {
    const auto layout = layout_of(target.n, target.type);
    if (layout && world.devices.unpack_from_host(target.place, *layout, target.data, from, fits)) {
      operation.replaced = true;
      operation.bytes = static_cast<MPI_Count>(fits);
      return;
    }
    accept_envelopes(target.place.device);
    HostShadow shadow(world.devices, target.data, target.place, {{0, target.n, target.type}},
                      Use::kReadWrite);
    shadow.fill();
    unpack(from, fits, shadow.data(), target.n, target.type);
    shadow.write_back();
  } else if (!target.dense) {
    unpack(from, fits, target.data, target.n, target.type);
  } else if (target.on_device) {
    copy_to_device(target.place, target.data, from, fits);
  } else {
    std::memcpy(target.data, from, fits);
  }
  operation.replaced = true;
  operation.bytes = static_cast<MPI_Count>(fits);
}

namespace {

// A copy that goes on beside others.
void begin_copy(Operation& operation, Slot& slot, const char* from, std::size_t bytes) {
  if (tracked.copying.size() == Devices::kLanes) wait_copy(*tracked.copying.front());
  const Target& target = operation.target;
  operation.lane = world.devices.begin_copy(target.place, target.data, from, bytes);
  operation.copying = &slot;
  tracked.copying.push_back(&operation);
}

// Memory of a device goes where a receive without gaps wants it. A kernel does one copy after the
// other: where there is one alone.
void fetch(Operation& operation, Slot& slot, const Located& source, const char* from,
           std::uint32_t rank, std::size_t bytes, Until until) {
  const Target& target = operation.target;
  Devices& devices = world.devices;
  if (!target.on_device) return devices.copy_to_host(source, target.data, from, bytes);
  if (until != Until::kUnderWay || bytes <= Devices::kShort)
    return devices.copy_between_devices(target.place, target.data, source, from, bytes, rank);
  const bool alone = tracked.receives.empty() && tracked.copying.empty();
  if (!alone || !devices.carry(target.place, target.data, source, from, bytes, rank))
    begin_copy(operation, slot, from, bytes);
}

// By the copy proxy of the GPU, where that is another rank.
bool is_fetched(const Target& target, int sender, const Slot& slot, std::size_t bytes) {
  if (!target.dense) return false;
  return target.on_device
             ? copied_to_device_by_proxy(target.place, target.data, sender, slot, bytes)
             : copied_to_host_by_proxy(target.data, sender, slot, bytes);
}

// The same of a type with gaps. False where a kernel does not do it.
bool fetch_apart(const Target& target, const Located& source, const char* from, std::size_t bytes) {
  if (!target.on_device) return false;
  const auto layout = layout_of(target.n, target.type);
  return layout && world.devices.unpack(target.place, *layout, target.data, source, from, bytes);
}

}  // namespace

void take(Operation& operation, const Envelope& envelope, Until until) {
  if (is_header(envelope)) return begin_arrival(operation, envelope);
  const auto* const area =
      envelope.rank < world.areas.size() ? world.areas[envelope.rank].get() : nullptr;
  if (area == nullptr)
    end_job("an envelope came from rank " + std::to_string(envelope.rank) +
            ", whose memory it does not have");
  Slot& slot = area->slot(envelope.slot);
  if (slot.number != envelope.number)
    end_job("an envelope of rank " + std::to_string(envelope.rank) + " came twice");
  const Target& target = operation.target;
  const std::size_t fits = std::min<std::size_t>(envelope.bytes, target.room);
  const Copies copies;
  Route route = Route::kDirectly;
  const bool of_device = slot.on_host == 0;
  State expected = State::kOffered;
  if (!slot.state.compare_exchange_strong(expected, State::kTaken)) {
    route = Route::kAside;
    // Set aside: it stays so until it is taken.
    slot.state.store(State::kTaken, std::memory_order_relaxed);
    if (slot.aside == kInPlace) {
      const char* const place = area->place(envelope.slot, envelope.bytes);
      if (place == nullptr) end_job("a message was set aside where it has no room");
      put(operation, place, envelope.bytes);
    } else {
      const Shared aside(world.processes[envelope.rank], slot.aside, envelope.bytes);
      put(operation, aside.data(), envelope.bytes);
    }
  } else if (bring(operation, envelope, slot)) {
    route = target.dense ? Route::kPieces : Route::kThroughHost;
  } else if (is_fetched(target, static_cast<int>(envelope.rank), slot, fits)) {
    operation.replaced = true;
    operation.bytes = static_cast<MPI_Count>(fits);
    if (envelope.bytes > target.room) operation.error = MPI_ERR_TRUNCATE;
  } else {
    const bool own = envelope.rank == static_cast<std::uint32_t>(world.rank);
    if (!own) check_part(slot.handle, slot.offset, fits);
    const char* const from =
        own ? reinterpret_cast<const char*>(slot.address)
            : world.devices.opened(world.home, envelope.rank, slot.allocation, slot.handle) +
                  slot.offset;
    const Located source = own ? world.devices.locate(from) : Devices::place_of_opened(world.home);
    if (target.dense || fetch_apart(target, source, from, fits)) {
      if (target.dense) fetch(operation, slot, source, from, envelope.rank, fits, until);
      operation.replaced = true;
      operation.bytes = static_cast<MPI_Count>(fits);
      if (envelope.bytes > target.room) operation.error = MPI_ERR_TRUNCATE;
    } else {
      route = Route::kThroughHost;
      const HostMemory packed = host_memory_of(fits);
      world.devices.copy_to_host(source, packed.get(), from, fits);
      put(operation, packed.get(), fits);
      if (envelope.bytes > target.room) operation.error = MPI_ERR_TRUNCATE;
    }
  }
  if (operation.copying == nullptr) slot.state.store(State::kDone, std::memory_order_release);
  ++world.counts.envelope_receives;
  if (target.on_device || of_device)
    copies.note(target.on_device ? End::kInto : End::kFrom, route, envelope.bytes);
}

void settle(Operation& operation, const MPI_Status& status) {
  if (operation.kind == Operation::Kind::kCollective && operation.active && !operation.settled) {
    for (HostShadow& shadow : operation.shadows) shadow.write_back();
    if (operation.shared) write_back_once(*operation.shared);
    operation.settled = true;
  }
  if (operation.settled || operation.kind != Operation::Kind::kReceive || !operation.active) return;
  close_receive(operation);
  const Target& target = operation.target;
  if (!operation.memory) {
    Envelope envelope;
    // Of a request that the application has freed the memory may be gone where the message came in
    // it: only an envelope, which nobody else takes, is looked for there, and so in a message that
    // is as long.
    const bool may_look = !operation.freed || bytes_of(status) == kEnvelopeBytes;
    if (may_look && !operation.unchecked &&
        world.accepts_envelopes.load(std::memory_order_relaxed) &&
        got_envelope(target, status, envelope))
      take(operation, envelope);
    return;
  }
  int cancelled = 0;
  NEARPEAK_REAL(MPI_Test_cancelled)(&status, &cancelled);
  if (cancelled != 0) return;
  const std::size_t bytes = bytes_of(status);
  if (bytes == kEnvelopeBytes && begins_as_envelope(operation.memory.get(), world.nonce)) {
    take(operation, envelope_at(operation.memory.get()), Until::kUnderWay);
    if (!operation.persistent)
      world.posted.give_back({operation.memory_bytes, std::move(operation.memory)});
  } else {
    const Copies copies;
    put(operation, operation.memory.get(), bytes);
    if (target.on_device) {
      ++world.counts.staged_receives;
      copies.note(End::kInto, Route::kThroughHost, bytes);
      note_staged_receive(operation, status.MPI_SOURCE, bytes);
      note_far(operation, status.MPI_SOURCE, bytes);
    }
  }
}

void correct(const Operation& operation, MPI_Status& status) {
  if (operation.replaced)
    NEARPEAK_REAL(MPI_Status_set_elements_x)(&status, calls::byte_type(), operation.bytes);
}

int finished(Operation& operation, MPI_Status& status, int error) {
  if (operation.persistent && !operation.active) return error;
  if (error == MPI_SUCCESS)
    settle(operation, status);
  else
    close_receive(operation);
  wait_copy(operation);
  correct(operation, status);
  const int own = error == MPI_SUCCESS ? operation.error : error;
  if (operation.persistent) {
    operation.active = false;
    return own;
  }
  tracked.table.drop(operation.request);
  operation.has_request = false;
  if (operation.kind == Operation::Kind::kOffered)
    end_offered(operation);
  else
    drop(operation);
  return own;
}

void free_request(Operation& operation) {
  MPI_Request request = operation.request;
  if (operation.kind == Operation::Kind::kOffered) {
    if (!operation.done) NEARPEAK_REAL(MPI_Grequest_complete)(request);
    operation.done = true;
    operation.has_request = false;
    tracked.table.drop(request);
    NEARPEAK_REAL(MPI_Request_free)(&request);
    end_offered(operation);
    return;
  }
  operation.freed = true;
  ++tracked.freed;
  end_freed(operation);
}

void note_comm_freed(MPI_Comm comm, bool freed) {
  const Guard guard;
  tracked.table.each([&](Operation& operation) {
    if (operation.comm == comm) operation.comm_freed = freed;
  });
}

void finish_all() {
  // Receivers take what they will before their own end: when all have come here, nothing that is
  // left will be received.
  // Not on MPI_COMM_WORLD: partitioned messages of Open MPI 5.0.11 that were never started leave a
  // collective behind there, which some ranks begin before this one and some after it.
  Pause pause;
  for (; !is_all_told(); pause()) advance();
  MPI_Request request{};
  NEARPEAK_REAL(MPI_Ibarrier)(world.everyone, &request);
  for (int all_here = 0; all_here == 0; pause()) {
    advance();
    is_all_told();
    NEARPEAK_REAL(MPI_Test)(&request, &all_here, MPI_STATUS_IGNORE);
  }
  abandon_parts();
}

void Pause::operator()() {
  constexpr int kBefore = 200;
  if (++tries_ > kBefore) sched_yield();
}

}  // namespace nearpeak::layer
