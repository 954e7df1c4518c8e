// SPDX-License-Identifier: Apache-2.0
// What a launcher tells the processes that it starts, before MPI is initialised.
#pragma once

#include <optional>
#include <string>

namespace nearpeak {

// Where launchers tell the local rank: Open MPI's; Hydra, of MPICH and Intel MPI; MVAPICH's, of
// both generations; Cray's PALS, and others that speak PMI; jobs' last, which a launcher inside a
// job passes on. tests/test_launchers.py compares these with src/nearpeak/libraries/launchers.
inline constexpr const char* kLocalRank[]{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "MV2_COMM_WORLD_LOCAL_RANK",  "MVP_COMM_WORLD_LOCAL_RANK",
                                          "PALS_LOCAL_RANKID",          "PMI_LOCAL_RANK",
                                          "FLUX_TASK_LOCAL_ID",         "SLURM_LOCALID"};

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
