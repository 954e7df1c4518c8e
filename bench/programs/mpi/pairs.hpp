// SPDX-License-Identifier: Apache-2.0
// Rounds of pairs of ranks: the pairs of a round are measured at the same time, latency at a small
// size and bandwidth both ways (bibw) at a large one, so that a node or a link that is slow in one
// direction is seen. Each rank stands for a node, or for a GPU of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mpi/mpi_group.hpp"
#include "programs/mpi/command.hpp"

namespace nearpeak {

// A line of a file of rounds.
struct RoundLine {
  std::string kinds;          // as parse_pair_kinds takes them; empty: those of --buffers
  std::vector<int> partners;  // the rank that each rank is measured with; -1: none
};

// Parses "0-3 1-2" or "H,D 0-3 1-2". Throws BadInput for a rank from `ranks` on, a rank with two
// partners, and unknown buffers.
RoundLine parse_round(const std::string& line, int ranks);

// Collective. Returns kGood, or kWrongData where a pair received wrong data; that is a record, and
// the others are measured. Throws BadInput, std::runtime_error.
int measure_pairs(const Command& command, const DeviceChoice& devices, MpiGroup& group);

}  // namespace nearpeak
