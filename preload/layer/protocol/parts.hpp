// SPDX-License-Identifier: Apache-2.0
// Long messages from memory of a device to ranks that share no memory with this one: a header in
// the place of the message, and the rest in parts on a communicator of the layer's
// (docs/contributing/layer-design.md). Who calls holds the guard.
#pragma once

#include <cstddef>
#include <memory>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

// Sends the header, and begins to send all parts; null where the message is to go in one piece.
// What is left is done by advance(), when keep_offered() has it.
std::unique_ptr<OfferedSend> offer_in_parts(const Outgoing& message, int rank);
// Looks at one: whether all has been received.
bool all_sent(OfferedSend& send);
// The tag may be another one's.
void end_sent(OfferedSend& send);

inline bool is_header(const Envelope& envelope) { return envelope.slot == kInParts; }
// Begins to receive what a header stands for.
void begin_arrival(Receive& receive, const Envelope& header);
// Whether some that have begun are not there.
bool have_arrivals();
// Moves what has come of a few of them, in turn.
void advance_arrivals();
void await_arrival(Receive& receive);

// A message came into memory of a device in one piece: its sender may be told that this rank looks
// for headers.
void note_far(const Receive& receive, int source, std::size_t bytes);
// Before the ranks meet at the end: hears what other ranks have announced. True if nothing is left
// of what has begun to arrive, and others have heard this rank.
bool hear_all();
// Behind it: receives a part that nobody wants, as MPICH frees no communicator with messages.
// False: there is none.
bool drop_part();
// Whether some that this rank has sent are not received.
bool have_departures();
// Gives them up.
void abandon_parts();

}  // namespace nearpeak::layer
