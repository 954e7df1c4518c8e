// SPDX-License-Identifier: Apache-2.0
// Receives. Each form of MPI's says by `post` how it is begun: post(data, n, type, request).
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <utility>

#include "layer/datatype/types.hpp"
#include "layer/protocol/advance.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/deliver.hpp"
#include "layer/protocol/messages.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/protocol/probe.hpp"
#include "layer/protocol/short_receives.hpp"
#include "layer/protocol/taken.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Whether a receive into host memory needs no look: no envelope can come.
inline bool nothing_comes() {
  return !world.accepts_envelopes.load(std::memory_order_relaxed) && !holds_any();
}

// Whether a receive that is begun is the MPI library's alone: it is in host memory, where no
// envelope fits.
inline bool is_unwatched(const Incoming& in) {
  return !world.devices.loaded() || (!in.found.on_device && !holds_any() && !gives_room() &&
                                     room_of(in.n, in.type) < kEnvelopeBytes);
}

// Whether the MPI library says that the call is wrong: a count below 0 is one that overflowed.
inline bool is_wrong(const Incoming& in) {
  return in.n < 0 || in.type == calls::datatype_null() ||
         (in.data == nullptr && type_of(in.type).dense && room_of(in.n, in.type) > 0);
}
// Whether nothing comes, or the call is wrong.
inline bool is_for_library(const Incoming& in, const Origin& origin) {
  return origin.from == MPI_PROC_NULL || is_wrong(in);
}

Target target_of(const Incoming& in);
// Notes one that the MPI library has begun without room for an envelope.
void note_short_receive(MPI_Request request, const Origin& origin);
// The same of a persistent one.
void note_short_receive_again(MPI_Request request, const Origin& origin);
// Begins one that is the MPI library's alone, by begin(request). Who calls holds the guard since it
// looked: a probe of another thread could take what it waits for.
template <typename Begin>
int receive_unwatched(const Incoming& in, const Origin& origin, MPI_Request* request,
                      const Begin& begin) {
  const int code = begin(request);
  if (code == MPI_SUCCESS && watches_short_receives() && !is_for_library(in, origin))
    note_short_receive(*request, origin);
  return code;
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
  if ((is_short(target) && gives_room()) ||
      (!target.takes_envelope() && (target.on_device || world.accepts_envelopes.load()))) {
    room = std::max(room, kEnvelopeBytes);
    if (target.on_device && land_together())
      receive->host = world.devices.landing(target.place.device, room);
    if (!receive->host) receive->host = host_memory_of(room);
    where = receive->host.get();
  } else if (!target.dense) {
    receive->accept_no_envelope();
  }
  if (is_short(target) && !receive->host) receive->lack_room();
  if (!receive->persistent) make_ready(*receive);
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
  // A probe that finds an envelope receives it, and the persistent receive does not get it then.
  decline_short_envelopes();
  if (is_short(target) && !gives_room()) {
    const int code = post(in.data, in.n, in.type, request);
    if (code == MPI_SUCCESS) note_short_receive_again(*request, origin);
    return code;
  }
  auto receive = std::make_unique<PostedReceive>(target, origin);
  receive->be_persistent();
  return post_receive(std::move(receive), request, post);
}

// Begins the receive of a message of the MPI library's that is held.
int post_matched(const Target& target, const Origin& origin, MPI_Message one, MPI_Request* request);

template <typename Post>
int receive_later(const Incoming& in, Origin origin, MPI_Request* request, const Post& post) {
  if (is_for_library(in, origin)) return post(in.data, in.n, in.type, request);
  const Guard guard;
  const Target target = target_of(in);
  if (auto held = receive_held(target, origin)) return keep_held(std::move(held), request);
  if (const MPI_Message one = take_held_message(origin); one != calls::message_null())
    return post_matched(target, origin, one, request);
  if (is_short(target) && !gives_room())
    return receive_unwatched(in, origin, request,
                             [&](MPI_Request* made) { return post(in.data, in.n, in.type, made); });
  return post_receive(std::make_unique<PostedReceive>(target, origin), request, post);
}

// In host memory, by the form that waits, while nothing else is to be done.
template <typename Now>
int receive_now(const Target& target, const Origin& origin, MPI_Status* status, const Now& now) {
  std::array<char, kEnvelopeBytes> content;
  Target roomy = target;
  if (is_short(target)) {
    roomy.data = content.data();
    roomy.room = content.size();
  }
  Overwritten overwritten;
  overwritten.keep(target);
  MPI_Status own;
  MPI_Status& received = status == MPI_STATUS_IGNORE ? own : *status;
  const int code =
      now(roomy.data, static_cast<MPI_Count>(roomy.room), calls::byte_type(), &received);
  HeldReceive held(target, origin.comm);
  if (code != MPI_SUCCESS) {
    if (is_short(target) && class_of(code) == MPI_ERR_TRUNCATE) {
      put(held, content.data(), content.size());
      correct(held, received);
    }
    return code;
  }
  Envelope envelope;
  const bool by_envelope = got_envelope(roomy, received, envelope);
  if (!by_envelope && !is_short(target)) return code;
  held.status.source = received.MPI_SOURCE;
  held.status.tag = received.MPI_TAG;
  if (by_envelope) {
    overwritten.put_back(target, envelope.bytes);
    take(held, envelope);
  } else {
    put(held, content.data(), bytes_of(received));
  }
  return end_held(held, status);
}

// `now`: the form that waits, now(data, n, type, status), for host memory where nothing else is to
// be done.
template <typename Post, typename Now>
int receive(const Incoming& in, Origin origin, MPI_Status* status, const Post& post,
            const Now& now) {
  if (is_for_library(in, origin)) return now(in.data, in.n, in.type, status);
  MPI_Request request{};
  {
    const Guard guard;
    const Target target = target_of(in);
    if (const auto held = receive_held(target, origin)) return end_held(*held, status);
    const MPI_Message one = take_held_message(origin);
    const bool small = one == calls::message_null() && is_short(target) && !gives_room() && !busy();
    if (small && !world.multiple) return now(in.data, in.n, in.type, status);
    int code = MPI_SUCCESS;
    if (one != calls::message_null()) {
      code = post_matched(target, origin, one, &request);
    } else if (small) {
      code = post(in.data, in.n, in.type, &request);
    } else {
      const bool at_once = !busy() && !world.multiple;
      if (at_once && target.takes_envelope() && target.room <= INT_MAX)
        return receive_now(target, origin, status, now);
      code = post_receive(std::make_unique<PostedReceive>(target, origin), &request, post);
    }
    if (code != MPI_SUCCESS) return code;
  }
  // Without the guard: what it waits for may come only when another thread has gone on. With it
  // until here: a probe of another thread may take a message that no receive has been begun for.
  return wait(&request, status);
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
