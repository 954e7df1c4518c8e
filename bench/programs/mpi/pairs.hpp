// SPDX-License-Identifier: Apache-2.0
// Rounds of pairs of ranks: the pairs of a round are measured at the same time, latency at a small
// size and bandwidth both ways (bibw) at a large one, so that a node or a link that is slow in one
// direction is seen. Each rank stands for a node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi/mpi_group.hpp"
#include "programs/mpi/command.hpp"

namespace nearpeak {

// The rank that each rank of so many is measured with, by a line of a file of rounds ("0-3 1-2");
// -1: with none. Throws BadInput for a rank that is not there, or that has two partners.
std::vector<int> parse_round(const std::string& line, int ranks);

// Collective. Returns kGood, or kWrongData where a pair received wrong data; that is a record, and
// the others are measured. Throws BadInput, std::runtime_error.
int measure_pairs(const Command& command, const DeviceChoice& devices, MpiGroup& group);

}  // namespace nearpeak
