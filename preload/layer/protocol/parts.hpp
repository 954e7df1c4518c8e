// SPDX-License-Identifier: Apache-2.0
// Long messages from memory of a device to ranks that share no memory with this one: a header in
// the place of the message, and the rest in parts on a communicator of the layer's
// (docs/contributing/layer-design.md). Who calls holds the guard.
#pragma once

#include <cstddef>
#include <vector>

#include "calls/real.hpp"
#include "layer/copy/host_memory.hpp"
#include "layer/world/envelope.hpp"

namespace nearpeak::layer {

struct Operation;
struct Outgoing;

// A message that is sent or received in parts.
struct Parts {
  std::size_t bytes = 0;
  std::size_t step = 0;  // bytes of a part; the last one may be shorter
  int tag = 0;
  HostMemory memory;  // of all of it; none where the parts are received in their place
  char* at = nullptr;
  std::vector<MPI_Request> requests;  // in their order
  std::size_t over = 0;               // so many are complete, from the first on
  std::size_t moved = 0;              // so many bytes of what was received are on the device

  bool all_over() const { return over == requests.size(); }
};

// Sends the header, and begins to send all parts; null where the message is to go in one piece.
// What is left is done by advance(), as of any send by an envelope.
Operation* offer_in_parts(const Outgoing& message, int rank);
// Looks at one: whether all has been received.
bool all_sent(Operation& operation);
// The tag may be another one's.
void end_sent(Operation& operation);

inline bool is_header(const Envelope& envelope) { return envelope.slot == kInParts; }
// Begins to receive what a header stands for.
void begin_arrival(Operation& operation, const Envelope& header);
// Whether some that have begun are not there.
bool have_arrivals();
bool is_arriving(const Operation& operation);
// Moves what has come of a few of them, in turn.
void advance_arrivals();
void await_arrival(Operation& operation);

// A message came into memory of a device in one piece: its sender may be told that this rank looks
// for headers.
void note_far(const Operation& operation, int source, std::size_t bytes);
// Before the ranks meet at the end: whether nothing is left of what has begun to arrive, and others
// have heard what this rank has told them. It hears what they have told.
bool is_all_told();
// Behind it: gives up what nobody has received.
void abandon_parts();

}  // namespace nearpeak::layer
