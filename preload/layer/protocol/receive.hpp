// SPDX-License-Identifier: Apache-2.0
// Receives. Each form of MPI's says by `post` how it is begun: post(data, n, type, request).
#pragma once

#include <algorithm>
#include <climits>
#include <memory>
#include <utility>

#include "layer/datatype/types.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/protocol/probe.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// What a receive is given.
struct Incoming {
  void* data;
  MPI_Count n;
  MPI_Datatype type;
  Found found;  // of the data
};

// Where a message comes from.
struct Origin {
  int from;
  int tag;
  MPI_Comm comm;
};

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

std::unique_ptr<Operation> receiving(const Incoming& in, MPI_Comm comm);
// Keeps a receive that was posted.
void keep_posted(std::unique_ptr<Operation> operation, MPI_Request request);
// Gives an operation a request that the layer completes.
int keep_by_own_request(std::unique_ptr<Operation> operation, MPI_Request* request);
// The same of a receive that is done already, or is when what has begun to arrive is there.
int keep_done(std::unique_ptr<Operation> operation, MPI_Request* request);
// Ends a receive without a request: its status, and its error, which is raised.
int end_unkept(Operation& operation, MPI_Status* status);

// Begins the receive, whose message is none that is held: as one of bytes, as of numbers MPICH
// takes whole ones alone, which an envelope is none of.
template <typename Post>
int post_receive(std::unique_ptr<Operation> operation, MPI_Request* request, const Post& post) {
  Target& target = operation->target;
  void* where = target.data;
  std::size_t room = target.room;
  if (!target.takes_envelope() && (target.on_device || world.accepts_envelopes.load())) {
    room = std::max(room, kEnvelopeBytes);
    PostedPiece piece = world.posted.take(room);
    operation->memory = std::move(piece.memory);
    operation->memory_bytes = piece.bytes;
    where = operation->memory.get();
    clear(*operation);
  } else if (!target.dense) {
    operation->unchecked = true;
  }
  const Elements bytes(static_cast<MPI_Count>(room), calls::byte_type());
  const int code = operation->unchecked ? post(where, target.n, target.type, request)
                                        : post(where, bytes.n(), bytes.type(), request);
  if (code == MPI_SUCCESS) keep_posted(std::move(operation), *request);
  return code;
}

// A persistent one, which begins at each start.
template <typename Post>
int receive_again(const Incoming& in, Origin origin, MPI_Request* request, const Post& post) {
  if (is_for_library(in, origin)) return post(in.data, in.n, in.type, request);
  const Guard guard;
  auto operation = receiving(in, origin.comm);
  if (!operation->target.on_device && operation->target.room < kEnvelopeBytes)
    return post(in.data, in.n, in.type, request);
  operation->persistent = true;
  operation->source = origin.from;
  operation->tag = origin.tag;
  return post_receive(std::move(operation), request, post);
}

template <typename Post>
int receive_later(const Incoming& in, Origin origin, MPI_Request* request, const Post& post) {
  if (is_for_library(in, origin)) return post(in.data, in.n, in.type, request);
  const Guard guard;
  auto operation = receiving(in, origin.comm);
  if (holds_any() && receive_held(*operation, origin.from, origin.tag, origin.comm))
    return keep_done(std::move(operation), request);
  if (!operation->target.on_device && operation->target.room < kEnvelopeBytes)
    return post(in.data, in.n, in.type, request);
  return post_receive(std::move(operation), request, post);
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
    auto operation = receiving(in, origin.comm);
    const Target& target = operation->target;
    if (holds_any() && receive_held(*operation, origin.from, origin.tag, origin.comm)) {
      await_arrival(*operation);
      return end_unkept(*operation, status);
    }
    small = !target.on_device && target.room < kEnvelopeBytes && !busy();
    if (!small && target.takes_envelope() && target.room <= INT_MAX && !busy() && !world.multiple) {
      MPI_Status own;
      MPI_Status& told = status == MPI_STATUS_IGNORE ? own : *status;
      const int code = now(static_cast<MPI_Count>(target.room), calls::byte_type(), &told);
      Envelope envelope;
      if (code != MPI_SUCCESS || !got_envelope(target, told, envelope)) return code;
      take(*operation, envelope);
      await_arrival(*operation);
      operation->source = told.MPI_SOURCE;
      operation->tag = told.MPI_TAG;
      return end_unkept(*operation, status);
    }
    if (!small) {
      const int code = post_receive(std::move(operation), &request, post);
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
  auto operation = receiving(in, calls::comm_world());
  if (receive_matched(*operation, one)) return keep_done(std::move(operation), request);
  return post_receive(std::move(operation), request, post);
}

}  // namespace nearpeak::layer
