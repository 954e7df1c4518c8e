// SPDX-License-Identifier: Apache-2.0
// Envelopes in the place of messages that are shorter than one. A receive of less bytes has no room
// for it, so a rank posts such receives into memory of the layer's from some time on, and then says
// that it takes these envelopes, too: when a first short message has come into memory of a device
// and no receive without room is under way. Who calls holds the guard.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layer/protocol/messages.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Whether every receive that this rank begins has room for an envelope.
inline bool gives_room() { return world.gives_room; }
// Whether the receive has no room for one where the application wants the message.
inline bool is_short(const Target& target) {
  return !target.on_device && target.room < kEnvelopeBytes;
}
// Whether receives without room still have to be noted.
bool watches_short_receives();
// One more is noted.
void count_short_receive();
// A message has come into memory of a device through host memory. `sender`: its rank in
// MPI_COMM_WORLD.
void note_short_message(int sender, std::size_t bytes);
// This rank takes no envelopes for short messages from now on, but for those that are under way.
void decline_short_envelopes();

// Whether that rank has room for an envelope in the place of a message of this length.
bool has_room(int rank, std::size_t bytes);
// Notes a short message to that rank from this allocation; whether one has gone there before. The
// first one goes through host memory: to open an allocation takes much longer, and may wait for
// kernels.
bool comes_again(int rank, std::uint64_t allocation);

}  // namespace nearpeak::layer
