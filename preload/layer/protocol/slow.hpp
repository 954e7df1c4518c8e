// SPDX-License-Identifier: Apache-2.0
// Notes messages that go through host memory for world/slow_sends.hpp. Who calls holds the guard.
#pragma once

#include "layer/protocol/messages.hpp"
#include "layer/world/slow_sends.hpp"

namespace nearpeak::layer {

// So many bytes to a rank of MPI_COMM_WORLD, if a copy would have been faster.
void note_slow(Hindrance why, int rank, const Located& place, std::size_t bytes);
// A send for which offer() has found no other way.
void note_staged(const Outgoing& message, Mode mode);
// One from managed memory.
void note_managed(const Outgoing& message);

}  // namespace nearpeak::layer
