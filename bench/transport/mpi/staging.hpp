// SPDX-License-Identifier: Apache-2.0
// Messages by MPI through host memory that the program copies device memory to and from.
#pragma once

#include <mpi.h>

#include <memory>

#include "accel/accelerator.hpp"
#include "transport/transport.hpp"

namespace nearpeak {

struct StagedEnd {
  MPI_Comm comm;
  Device* device;  // whose memory is copied; null: this end's is the host's, and nothing is
  Memory& memory;  // that MPI is given
};

// Each message is copied as a whole, before it is sent and once it has come.
std::unique_ptr<Transport> whole_staging(const StagedEnd& end, const Messages& messages,
                                         const Buffers& buffers);
// In chunks, of which some are copied while others are on their way. Both ends must have it.
std::unique_ptr<Transport> pipelined_staging(const StagedEnd& end, const Messages& messages,
                                             const Buffers& buffers);

}  // namespace nearpeak
