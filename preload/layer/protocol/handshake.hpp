// SPDX-License-Identifier: Apache-2.0
// The agreement of all ranks in MPI_Init, and the end (docs/contributing/layer-design.md).
#pragma once

#include "calls/real.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {

// Whether the layer is on from now on, decided by all ranks.
void begin();
// A communicator was made out of a session (MPI 4.0): without MPI_Init the layer is off.
void begin_without_init(MPI_Comm made);
void end();

}  // namespace nearpeak::layer
