// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/probe.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <utility>

#include "layer/protocol/advance.hpp"
#include "layer/protocol/deliver.hpp"
#include "layer/protocol/taken.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

using Content = std::array<char, kEnvelopeBytes>;

struct Held {
  MPI_Comm comm;
  MPI_Status status;
  MPI_Message matched;  // of one that is no envelope for certain: the MPI library still has it
  Content content;

  bool fits(int from, int wanted, MPI_Comm on) const {
    return comm == on && (from == MPI_ANY_SOURCE || from == status.MPI_SOURCE) &&
           (wanted == MPI_ANY_TAG || wanted == status.MPI_TAG);
  }
  bool in_library() const { return matched != calls::message_null(); }
  bool envelope() const { return begins_as_envelope(content.data(), world.nonce); }
  // Of the message.
  MPI_Count bytes() const {
    return envelope() ? static_cast<MPI_Count>(envelope_at(content.data()).bytes)
                      : static_cast<MPI_Count>(kEnvelopeBytes);
  }
};

// What a matched probe has given, until it is received.
struct Again {
  Held held;
  MPI_Request sending;
};

struct All {
  // In the order in which they came. From a rank the MPI library has only later ones, but for those
  // that came while there were persistent receives.
  std::list<Held> held;
  std::map<MPI_Message, std::unique_ptr<Again>> again;
};
All& all = *new All;

std::list<Held>::iterator first_held(int from, int tag, MPI_Comm comm) {
  return std::find_if(all.held.begin(), all.held.end(),
                      [&](const Held& each) { return each.fits(from, tag, comm); });
}

void tell(const Held& held, MPI_Status& status) {
  if (held.in_library()) {
    const int error = status.MPI_ERROR;
    status = held.status;
    status.MPI_ERROR = error;
    return;
  }
  status.MPI_SOURCE = held.status.MPI_SOURCE;
  status.MPI_TAG = held.status.MPI_TAG;
  NEARPEAK_REAL(MPI_Status_set_cancelled)(&status, 0);
  NEARPEAK_REAL(MPI_Status_set_elements_x)(&status, calls::byte_type(), held.bytes());
}

// Whether what a probe has found may be an envelope.
bool may_be_envelope(const MPI_Status& status) {
  return world.accepts_envelopes.load(std::memory_order_relaxed) &&
         bytes_of(status) == kEnvelopeBytes;
}

// `status`: what a matched probe has told of it.
Held held_of(MPI_Message one, MPI_Comm comm, const MPI_Status& status) {
  Held held{.comm = comm, .status = status, .matched = one, .content = {}};
  if (may_be_envelope(status)) NEARPEAK_REAL(MPI_Mrecv)
  (held.content.data(), static_cast<int>(kEnvelopeBytes), calls::byte_type(), &held.matched,
   &held.status);
  return held;
}

// Holds what has come from a rank up to the first message with this tag: a receive of any tag gets
// those before it first. Where a persistent receive may wait for one of those, this message alone.
void hold_until(int source, int tag, MPI_Comm comm) {
  const int which = StartedAgain::any() ? tag : MPI_ANY_TAG;
  for (;;) {
    MPI_Message one{};
    MPI_Status status;
    int found = 0;
    NEARPEAK_REAL(MPI_Improbe)(source, which, comm, &found, &one, &status);
    if (found == 0) return;
    all.held.push_back(held_of(one, comm, status));
    if (status.MPI_TAG == tag) return;
  }
}

std::unique_ptr<HeldReceive> deliver(const Held& held, const Target& target) {
  auto receive = std::make_unique<HeldReceive>(target, held.comm);
  receive->status.source = held.status.MPI_SOURCE;
  receive->status.tag = held.status.MPI_TAG;
  if (held.envelope())
    take(*receive, envelope_at(held.content.data()));
  else
    put(*receive, held.content.data(), held.content.size());
  return receive;
}

}  // namespace

bool holds_any() { return !all.held.empty(); }

int probe_now(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  MPI_Status own;
  MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
  const Guard guard;
  if (busy()) advance();
  for (;;) {
    const auto held = first_held(from, tag, comm);
    if (held != all.held.end()) {
      tell(*held, told);
      *flag = 1;
      return MPI_SUCCESS;
    }
    const int code = NEARPEAK_REAL(MPI_Iprobe)(from, tag, comm, flag, &told);
    if (code != MPI_SUCCESS || *flag == 0 || !may_be_envelope(told)) return code;
    hold_until(told.MPI_SOURCE, told.MPI_TAG, comm);
  }
}

namespace {

// Whether this rank takes envelopes, or another thread may have it do so while this one waits.
bool may_accept_envelopes() { return world.accepts_envelopes.load() || world.multiple; }

}  // namespace

int probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!may_accept_envelopes()) return NEARPEAK_REAL(MPI_Probe)(from, tag, comm, status);
  Waiting pause;
  for (int flag = 0;; pause()) {
    const int code = probe_now(from, tag, comm, &flag, status);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
}

int matched_probe_now(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* one,
                      MPI_Status* status) {
  MPI_Status own;
  MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
  const Guard guard;
  if (busy()) advance();
  const auto found = first_held(from, tag, comm);
  auto again = std::make_unique<Again>();
  if (found != all.held.end()) {
    again->held = *found;
    all.held.erase(found);
    if (again->held.in_library()) {
      *one = again->held.matched;
      tell(again->held, told);
      *flag = 1;
      return MPI_SUCCESS;
    }
  } else {
    const int code = NEARPEAK_REAL(MPI_Improbe)(from, tag, comm, flag, one, &told);
    if (code != MPI_SUCCESS || *flag == 0 || !may_be_envelope(told)) return code;
    again->held = held_of(*one, comm, told);
  }
  NEARPEAK_REAL(MPI_Isend)
  (again->held.content.data(), static_cast<int>(kEnvelopeBytes), calls::byte_type(), 0, 1,
   world.own, &again->sending);
  NEARPEAK_REAL(MPI_Mprobe)(0, 1, world.own, one, &own);
  tell(again->held, told);
  all.again[*one] = std::move(again);
  *flag = 1;
  return MPI_SUCCESS;
}

int matched_probe(int from, int tag, MPI_Comm comm, MPI_Message* one, MPI_Status* status) {
  if (!may_accept_envelopes()) return NEARPEAK_REAL(MPI_Mprobe)(from, tag, comm, one, status);
  Waiting pause;
  for (int flag = 0;; pause()) {
    const int code = matched_probe_now(from, tag, comm, &flag, one, status);
    if (code != MPI_SUCCESS || flag != 0) return code;
  }
}

std::unique_ptr<HeldReceive> receive_held(const Target& target, const Origin& origin) {
  const auto found = first_held(origin.from, origin.tag, origin.comm);
  if (found == all.held.end() || found->in_library()) return nullptr;
  const Held held = *found;
  all.held.erase(found);
  return deliver(held, target);
}

MPI_Message take_held_message(const Origin& origin) {
  const auto found = first_held(origin.from, origin.tag, origin.comm);
  if (found == all.held.end()) return calls::message_null();
  const MPI_Message one = found->matched;
  all.held.erase(found);
  return one;
}

std::unique_ptr<HeldReceive> receive_matched(const Target& target, MPI_Message* one) {
  const auto found = all.again.find(*one);
  if (found == all.again.end()) return nullptr;
  const std::unique_ptr<Again> again = std::move(found->second);
  all.again.erase(found);
  Content unused;
  NEARPEAK_REAL(MPI_Mrecv)
  (unused.data(), static_cast<int>(unused.size()), calls::byte_type(), one, MPI_STATUS_IGNORE);
  NEARPEAK_REAL(MPI_Wait)(&again->sending, MPI_STATUS_IGNORE);
  return deliver(again->held, target);
}

void check_not_held(const Origin& origin) {
  if (first_held(origin.from, origin.tag, origin.comm) != all.held.end())
    end_job(
        "MPI_Start of a receive whose message a probe has found is not done: receive it by "
        "MPI_Recv, or, if the probe was for another tag, make the receive before the probe");
}

}  // namespace nearpeak::layer
