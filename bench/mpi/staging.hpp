// SPDX-License-Identifier: Apache-2.0
// The axis `staging`: what a program does whose MPI library knows nothing of accelerators. It
// copies between device and host memory itself, in the time that is measured. A rank whose buffers
// the CPU owns (H, P) copies nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

inline constexpr const char* kStaging = "staging";
inline constexpr const char* kNoStaging = "none";
Axis staging_axis();  // of every benchmark over a transport

// MPI that is given the buffers as they are, called as the axis `calls` says.
std::unique_ptr<Transport> unstaged(const CaseContext& context, const Messages& messages,
                                    const Buffers& buffers);

// MPI with the staging that the axes name: the one method of this program.
std::vector<Method> mpi_methods(const CaseContext& context, const Messages& messages,
                                const Buffers& buffers);

}  // namespace nearpeak
