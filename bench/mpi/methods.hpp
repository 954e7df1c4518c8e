// SPDX-License-Identifier: Apache-2.0
// By which transports messages go to another rank: as the axes `calls` and `staging` say. Staging
// is what a program does whose MPI library knows nothing of accelerators. It copies between device
// and host memory itself, in the time that is measured. A rank whose buffers the CPU owns (H, P)
// copies nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

inline constexpr const char* kStaging = "staging";
inline constexpr const char* kNoStaging = "none";
Axis staging_axis();  // of every benchmark over a transport
// Whose memory this rank copies to and from the host; null: it copies nothing.
Device* staging_device(const CaseContext& context);
// The memory that MPI is given: the host's where the rank copies, else its own.
Memory& memory_for_mpi(const CaseContext& context);

// MPI that is given the buffers as they are, called as the axis `calls` says.
std::unique_ptr<Transport> unstaged(const CaseContext& context, const Messages& messages,
                                    const Buffers& buffers);

// MPI with the staging that the axes name: the one method of this program.
std::vector<Method> mpi_methods(const CaseContext& context, const Messages& messages,
                                const Buffers& buffers);

}  // namespace nearpeak
