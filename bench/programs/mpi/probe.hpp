// SPDX-License-Identifier: Apache-2.0
// Which MPI operations a library can do on which kinds of buffers. It may well crash in one of
// them: a record before each says which.
#pragma once

#include <string>
#include <vector>

#include "mpi/mpi_group.hpp"
#include "programs/mpi/command.hpp"

namespace nearpeak {

// What is looked at: that the data of each size arrives; that it does from 64 allocations in turn,
// some of them kept and some freed; that memory does not grow where buffers come and go; that data
// arrives in buffers that are freed and allocated anew, larger each time; and in place.
inline constexpr const char* kDataCheck = "data";
inline constexpr const char* kChurnCheck = "churn";
inline constexpr const char* kLeakCheck = "leak";
inline constexpr const char* kGrowCheck = "grow";
inline constexpr const char* kInPlaceCheck = "inplace";
// "data,leak" -> the names. Throws BadInput.
std::vector<std::string> parse_checks(const std::string& text);
std::string probe_checks_text();  // for people

// "latency,put" -> the names, of benchmarks and operations; all of them for nothing. Throws
// BadInput.
std::vector<std::string> parse_operations(const std::string& text);

// Collective. A benchmark is verified in all its ways to call the library; what does not run on so
// many ranks is not tried. Returns kGood, kWrongData, or kFailed where something could not be tried
// or memory leaks. An error that MPI returns is recorded and ends the job. Throws BadInput,
// std::runtime_error.
int probe(const Command& command, const DeviceChoice& devices, MpiGroup& group);

}  // namespace nearpeak
