// SPDX-License-Identifier: Apache-2.0
// What a launcher tells the processes that it starts, before MPI is initialised.
#pragma once

#include <optional>
#include <string>

namespace nearpeak {

// The rank of this process in its launch, and among those of its host; nothing where the launcher
// does not say. Throw BadInput for what is no number.
std::optional<int> launched_rank();
std::optional<int> launched_local_rank();
// The number of ranks, likewise.
std::optional<int> launched_ranks();
// Whether every launcher that says how many ranks it started says more than one. Throws likewise.
bool launched_with_others();

// The rank of this process in a launch of two, for a mode of that name. Throws BadInput for others.
int launched_rank_of_two(const std::string& mode);

// The variables that are looked at for the rank: "A, B or C".
std::string rank_variables();
// The same for the local rank.
std::string local_rank_variables();

}  // namespace nearpeak
