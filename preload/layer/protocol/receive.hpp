// SPDX-License-Identifier: Apache-2.0
// Receives. Each form of MPI's says by `post` how it is begun: post(data, n, type, request).
#pragma once

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

#include "layer/datatype/types.hpp"
#include "layer/protocol/advance.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/messages.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/protocol/probe.hpp"
#include "layer/protocol/taken.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Whether a receive into host memory needs no look: no envelope can come.
inline bool nothing_comes() {
  return !world.accepts_envelopes.load(std::memory_order_relaxed) && !holds_any();
}

// Whether a receive that is begun needs no record: it is in host memory, where no envelope fits.
inline bool is_unwatched(const Incoming& in) {
  return !world.devices.loaded() ||
         (!in.found.on_device && !holds_any() && room_of(in.n, in.type) < kEnvelopeBytes);
}

// Whether the MPI library says that the call is wrong: a count below 0 is one that overflowed.
inline bool is_wrong(const Incoming& in) { return in.n < 0 || in.type == calls::datatype_null(); }
// Whether nothing comes, or the call is wrong.
inline bool is_for_library(const Incoming& in, const Origin& origin) {
  return origin.from == MPI_PROC_NULL || is_wrong(in);
}

Target target_of(const Incoming& in);
// Whether no envelope fits there.
inline bool has_no_room(const Target& target) {
  return !target.on_device && target.room < kEnvelopeBytes;
}
// Keeps a receive that was posted.
void keep_posted(std::unique_ptr<PostedReceive> receive, MPI_Request request);
// Keeps one by a request of the layer's, which is complete when the message is there.
int keep_held(std::unique_ptr<HeldReceive> receive, MPI_Request* request);
// Ends one without a request: its status, and its error, which is raised.
int end_held(HeldReceive& receive, MPI_Status* status);

// Begins the receive, whose message is none that is held: as one of bytes, as of numbers MPICH
// takes whole ones alone, which an envelope is none of.
template <typename Post>
int post_receive(std::unique_ptr<PostedReceive> receive, MPI_Request* request, const Post& post) {
  const Target& target = receive->target;
  void* where = target.data;
  std::size_t room = target.room;
  if (!target.takes_envelope() && (target.on_device || world.accepts_envelopes.load())) {
    room = std::max(room, kEnvelopeBytes);
    receive->host = host_memory_of(room);
    where = receive->host.get();
    clear(*receive);
  } else if (!target.dense) {
    receive->accept_no_envelope();
  }
  const Elements bytes(static_cast<MPI_Count>(room), calls::byte_type());
  const int code = receive->accepts_envelope() ? post(where, bytes.n(), bytes.type(), request)
                                               : post(where, target.n, target.type, request);
  if (code == MPI_SUCCESS) keep_posted(std::move(receive), *request);
  return code;
}

// A persistent one, which begins at each start.
template <typename Post>
int receive_again(const Incoming& in, Origin origin, MPI_Request* request, const Post& post) {
  if (is_for_library(in, origin)) return post(in.data, in.n, in.type, request);
  const Guard guard;
  const Target target = target_of(in);
  if (has_no_room(target)) return post(in.data, in.n, in.type, request);
  auto receive = std::make_unique<PostedReceive>(target, origin);
  receive->persistent = true;
  return post_receive(std::move(receive), request, post);
}

template <typename Post>
int receive_later(const Incoming& in, Origin origin, MPI_Request* request, const Post& post) {
  if (is_for_library(in, origin)) return post(in.data, in.n, in.type, request);
  const Guard guard;
  const Target target = target_of(in);
  if (auto held = receive_held(target, origin)) return keep_held(std::move(held), request);
  if (has_no_room(target)) return post(in.data, in.n, in.type, request);
  return post_receive(std::make_unique<PostedReceive>(target, origin), request, post);
}

// `now`: the form that waits, now(n, type, status), for host memory where nothing else is to be
// done.
template <typename Post, typename Now>
int receive(const Incoming& in, Origin origin, MPI_Status* status, const Post& post,
            const Now& now) {
  if (is_for_library(in, origin)) return now(in.n, in.type, status);
  MPI_Request request{};
  bool small = false;
  {
    const Guard guard;
    const Target target = target_of(in);
    if (const auto held = receive_held(target, origin)) return end_held(*held, status);
    small = has_no_room(target) && !busy();
    if (!small && target.takes_envelope() && target.room <= INT_MAX && !busy() && !world.multiple) {
      MPI_Status own;
      MPI_Status& received = status == MPI_STATUS_IGNORE ? own : *status;
      const int code = now(static_cast<MPI_Count>(target.room), calls::byte_type(), &received);
      Envelope envelope;
      if (code != MPI_SUCCESS || !got_envelope(target, received, envelope)) return code;
      HeldReceive held(target, origin.comm);
      held.status.source = received.MPI_SOURCE;
      held.status.tag = received.MPI_TAG;
      take(held, envelope);
      return end_held(held, status);
    }
    if (!small) {
      const int code =
          post_receive(std::make_unique<PostedReceive>(target, origin), &request, post);
      if (code != MPI_SUCCESS) return code;
    }
  }
  // Without the guard: what it waits for may come only when another thread has gone on.
  return small ? now(in.n, in.type, status) : wait(&request, status);
}

// Of a matched probe.
template <typename Post>
int receive_matched_later(const Incoming& in, MPI_Message* one, MPI_Request* request,
                          const Post& post) {
  if (is_wrong(in)) return post(in.data, in.n, in.type, request);
  const Guard guard;
  const Target target = target_of(in);
  if (auto held = receive_matched(target, one)) return keep_held(std::move(held), request);
  const Origin any{MPI_ANY_SOURCE, MPI_ANY_TAG, calls::comm_world()};
  return post_receive(std::make_unique<PostedReceive>(target, any), request, post);
}

}  // namespace nearpeak::layer
