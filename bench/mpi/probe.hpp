// SPDX-License-Identifier: Apache-2.0
// Which MPI operations a library can do on which kinds of buffers. It may well crash in one of
// them: a record before each says which.
#pragma once

#include <string>
#include <vector>

#include "mpi/command.hpp"
#include "mpi/mpi_group.hpp"

namespace nearpeak {

inline constexpr int kProbeRanks = 2;

// Those that no benchmark is made of, in the order in which they are tried.
struct ProbeOperationInfo {
  std::string name;
  std::string summary;
};
std::vector<ProbeOperationInfo> probe_operations();

// "latency,put" -> the names, of benchmarks and operations; all of them for nothing. Throws
// BadInput.
std::vector<std::string> parse_operations(const std::string& text);

// Collective. A benchmark is verified in all its ways to call the library. Returns kGood,
// kWrongData, or kFailed where some buffers could not be made. Throws BadInput, std::runtime_error.
int probe(const Command& command, const DeviceChoice& devices, MpiGroup& group);

}  // namespace nearpeak
