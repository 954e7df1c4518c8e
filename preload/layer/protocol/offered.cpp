// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/offered.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

#include "layer/protocol/copy_proxy.hpp"
#include "layer/protocol/host.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/parts.hpp"
#include "layer/protocol/ring.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

using Clock = OfferedSend::Clock;

struct Offered {
  Ring<OfferedSend> all;
  int incomplete = 0;                         // of these, for the application
  std::map<int, Clock::time_point> taken_at;  // by receiver: the last of its sends
};
Offered& offered = *new Offered;

Slot& slot_of(const OfferedSend& send) { return world.area().slot(send.envelope.slot); }

void note_complete(OfferedSend& send) {
  if (!std::exchange(send.complete, true)) --offered.incomplete;
}

void complete_for_application(OfferedSend& send) {
  note_complete(send);
  if (send.has_request) complete_own_request(send.request);
}

// How long a receiver is waited for: a short message is set aside soon, as many applications depend
// on its send being complete. To set all of several aside takes as many times as long, in which the
// receiver may come to them.
Clock::duration patience_for(const OfferedSend& send) {
  constexpr std::chrono::microseconds kShort{5};
  // The proxy that is to set it aside may be the receiver, which is about to take it.
  constexpr std::chrono::microseconds kByProxy{100};
  const Clock::duration usual = world.settings.patience;
  if (send.envelope.bytes > kPlaceBytes) return usual;
  return std::min<Clock::duration>(usual,
                                   has_copy_proxy() ? kByProxy : kShort * offered.incomplete);
}

// The data goes where the receiver finds it whatever this rank does next.
void set_aside(OfferedSend& send) {
  const std::size_t bytes = send.envelope.bytes;
  OfferedMemory& memory = send.memory;
  char* const place = world.area().place(send.envelope.slot, bytes);
  std::unique_ptr<Shared> copy;
  try {
    if (place == nullptr) copy = std::make_unique<Shared>(bytes);
  } catch (const std::exception&) {
    send.waiting_since = Clock::now();  // later there may be some
    return;
  }
  void* const there = place != nullptr ? place : copy->data();
  if (memory.on_host)
    std::memcpy(there, memory.data, bytes);
  else
    copy_to_host(memory.place, there, memory.data, bytes);
  Slot& slot = slot_of(send);
  slot.aside = place != nullptr ? kInPlace : copy->fd();
  State expected = State::kOffered;
  if (!slot.state.compare_exchange_strong(expected, State::kAside)) return;  // it is being taken
  memory.set_aside = std::move(copy);
  memory.kept.reset();  // the receiver does not read there any more
  memory.copy = {};
  ++world.counts.set_aside_sends;
  complete_for_application(send);
}

// From when on a receiver is waited for. One that takes others will come to this one, but not for
// ever: what it takes may be what the application sends it until this one is complete.
Clock::time_point waits_from(const OfferedSend& send, Clock::time_point taken) {
  const auto latest = send.waiting_since + 10 * Clock::duration(world.settings.patience);
  return std::max(send.waiting_since, std::min(taken, latest));
}

// Where a receiver has the header and takes no part, it is in a call that the layer does not see.
void look_at_parts(OfferedSend& send, Now& now) {
  const std::size_t before = send.parts->over;
  const bool over = all_sent(send);
  if (send.complete || !send.envelope_sent) return;
  if (over) return complete_for_application(send);
  auto& taken = offered.taken_at[send.receiver];
  if (send.parts->over > before) taken = now();
  if (send.awaited && now() - waits_from(send, taken) > world.settings.patience) {
    ++world.counts.set_aside_sends;
    complete_for_application(send);
  }
}

void look_at_offered(OfferedSend& send, Now& now) {
  if (!send.envelope_sent) {
    int done = 0;
    NEARPEAK_REAL(MPI_Test)(&send.envelope_request, &done, MPI_STATUS_IGNORE);
    send.envelope_sent = done != 0;
    if (send.parts && send.envelope_sent) send.waiting_since = now();
  }
  if (send.parts) return look_at_parts(send, now);
  if (send.complete || !send.envelope_sent) return;
  Slot& slot = slot_of(send);
  const State state = slot.state.load(std::memory_order_acquire);
  if (state == State::kTaken && !std::exchange(send.seen_taken, true))
    offered.taken_at[send.receiver] = now();
  if (state == State::kDone) {
    offered.taken_at[send.receiver] = now();
    complete_for_application(send);
  } else if (state == State::kShared) {
    help(send, slot);
    now = {};
  } else if (state == State::kOffered && send.awaited) {
    const auto waited = now() - waits_from(send, offered.taken_at[send.receiver]);
    if (waited > patience_for(send)) {
      set_aside(send);
      now = {};
    }
  }
}

// Whether the receiver has it; then its slot, or its tag, is free again.
bool has_left(OfferedSend& send) {
  if (send.parts) {
    if (!send.parts->all_over()) return false;
    end_sent(send);
    return true;
  }
  Slot& slot = slot_of(send);
  if (slot.state.load(std::memory_order_acquire) != State::kDone) return false;
  slot.state.store(State::kFree, std::memory_order_relaxed);
  world.free_slots.give(send.envelope.slot);
  return true;
}

// One that nobody has any more, and that the receiver has, ends.
void end_offered(OfferedSend& send) {
  if (!send.complete || !send.envelope_sent || send.has_request || send.in_call) return;
  if (!has_left(send)) return;
  offered.all.remove(send);
  delete &send;
}

}  // namespace

OfferedSend& keep_offered(std::unique_ptr<OfferedSend> send) {
  OfferedSend& kept = *send.release();
  kept.in_call = true;
  offered.all.add(kept);
  ++offered.incomplete;
  return kept;
}

void release_offered(OfferedSend& send) {
  send.in_call = false;
  end_offered(send);
}

void release_request(OfferedSend& send) {
  send.has_request = false;
  note_complete(send);
  end_offered(send);
}

void advance_awaited(OfferedSend& send, Now& now) {
  if (send.complete) return;
  if (!send.awaited) {
    send.awaited = true;
    send.waiting_since = now();
  }
  look_at_offered(send, now);
}

void advance_offered() {
  Now now;
  offered.all.some([&](OfferedSend& send) {
    look_at_offered(send, now);
    end_offered(send);
  });
}

}  // namespace nearpeak::layer
