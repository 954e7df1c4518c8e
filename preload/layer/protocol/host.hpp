// SPDX-License-Identifier: Apache-2.0
// Long messages of which one end is in memory of a device and the other in that of the host: both
// ends move them, piece by piece (docs/contributing/layer-design.md). Who calls holds the guard.
#pragma once

#include <cstddef>

#include "layer/datatype/types.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Whether some rank of this machine takes envelopes.
inline bool in_company() {
  return world.mapped && world.area().header().company.load(std::memory_order_relaxed) != 0;
}
// Whether some rank expects long messages from host memory of this one.
inline bool is_expected() {
  return world.mapped && world.area().header().expected.load(std::memory_order_relaxed) != 0;
}

// Begins to take envelopes, where the application has a device.
void join();
// The same before a receive into host memory, where that may get a message that is faster so.
inline void join_for(MPI_Count n, MPI_Datatype type) {
  constexpr std::size_t kLeast = 1024;
  if (!world.accepts_envelopes.load(std::memory_order_relaxed) && in_company() &&
      room_of(n, type) >= kLeast)
    join();
}

// Pinned memory of a device's, for one Mover at a time.
Pieces& pieces_of(int device);

// Whether this process may read and write memory of that rank's.
bool reaches(int rank);
// A message came into memory of a device through host memory.
void note_staged_receive(const Receive& receive, int source, std::size_t bytes);
// Puts a message that was taken where its receive wants it. False where it is none of this kind.
bool bring(Receive& receive, const Envelope& envelope, Slot& slot);
// What the sender does while its receiver brings one.
void help(OfferedSend& send, Slot& slot);

}  // namespace nearpeak::layer
