// SPDX-License-Identifier: Apache-2.0
// Which MPI operations a library can do on which kinds of buffers. It may well crash in one of
// them: a record before each operation says which.
#pragma once

#include <string>
#include <vector>

#include "mpi/device_choice.hpp"

namespace nearpeak {

struct ProbeRequest {
  std::vector<std::string> buffers;     // kinds of both ranks, as given: "D,D"
  std::vector<Kinds> kinds;             // the same
  std::vector<std::string> operations;  // in this order
  std::string jsonl;
};

inline constexpr int kProbeRanks = 2;

// Names and summaries, in the order in which they are tried.
struct ProbeOperationInfo {
  std::string name;
  std::string summary;
};
std::vector<ProbeOperationInfo> probe_operations();

// "send,put" -> the names; all of them for nothing. Throws BadInput.
std::vector<std::string> parse_operations(const std::string& text);

// Collective. Returns kGood, kWrongData, or kFailed where some buffers could not be made. Throws
// BadInput, std::runtime_error.
int run(const ProbeRequest& request, const DeviceChoice& devices);

}  // namespace nearpeak
