// SPDX-License-Identifier: Apache-2.0
// Measuring the benchmarks of a command line, once MPI is initialised.
#pragma once

#include "mpi/mpi_group.hpp"
#include "programs/mpi/command.hpp"

namespace nearpeak {

// Collective over all ranks, whose group is given. Returns the exit status: kGood or kWrongData.
// Throws BadInput, std::runtime_error.
int measure(const std::vector<Command>& parts, const DeviceChoice& devices, MpiGroup& group);

// The case of a benchmark on this rank. `axes`: every one that the benchmark has. The buffers are
// from the allocator on ranks with a kind that it gives.
CaseContext context_of(const Command& command, const DeviceChoice& devices, const Kinds& kinds,
                       MpiGroup& group, std::size_t bytes, const Axes& axes,
                       const std::string& allocator = kPlain);

}  // namespace nearpeak
