// SPDX-License-Identifier: Apache-2.0
// Receives of what may come by an envelope: the envelopes are taken, and what they stand for is
// copied. Who calls holds the guard.
#pragma once

#include "layer/protocol/messages.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Before a receive is posted: no envelope of another message is in memory of the layer's, and what
// an envelope overwrites of the application's behind a shorter message is kept.
void make_ready(PostedReceive& receive);
// Whether messages came into memory of a device through host memory several at a time: then they
// land where it copies them together.
bool land_together();
// Begins to look for the envelope of a receive; where it is persistent, at each start.
void open_receive(PostedReceive& receive);
// Ends that.
void close_receive(PostedReceive& receive);
// The MPI library has completed it, with this status: puts the message in its place.
void settle(PostedReceive& receive, const MPI_Status& status);
bool have_open_receives();
// Whether advance_receives() has something to look at.
inline bool looks_for_envelopes() {
  return world.accepts_envelopes.load(std::memory_order_relaxed) && have_open_receives();
}
// Takes the envelope that has come, if one has.
void advance_receive(PostedReceive& receive);
// The same of a few of them, in turn.
void advance_receives();

// Has the MPI library make progress, by asking after a receive that is never complete.
void have_library_go_on();

// Whether a host receive that is complete got an envelope.
bool got_envelope(const Target& target, const MPI_Status& status, Envelope& envelope);
// What a received envelope stands for is put where the receive wants it, or, later, is on its way
// there until await_message(); what a header stands for always is.
enum class Until { kThere, kUnderWay };
void take(Receive& receive, const Envelope& envelope, Until until = Until::kThere);
void await_message(Receive& receive);

}  // namespace nearpeak::layer
