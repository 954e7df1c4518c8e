// SPDX-License-Identifier: Apache-2.0
// Which calls wait in the MPI library, where the layer does not go on with collectives that this
// rank has begun.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace nearpeak::layer {

// As calls/calls.inc has it, and asked.inc.
enum class CallKind { waits, tells, begins, starts, frees, drops, enters, leaves, asks };

// Of a call, by its name without what is of the type of its counts. One that is in no list here
// waits there, if its kind does.
constexpr bool waits_in_library(CallKind kind, std::string_view name) {
  // The layer goes on while they wait, or they wait for nobody.
  constexpr std::array<std::string_view, 28> kAttended{"MPI_Wait",
                                                       "MPI_Waitall",
                                                       "MPI_Waitany",
                                                       "MPI_Waitsome",
                                                       "MPI_Test",
                                                       "MPI_Testall",
                                                       "MPI_Testany",
                                                       "MPI_Testsome",
                                                       "MPI_Request_get_status",
                                                       "MPI_Request_get_status_all",
                                                       "MPI_Request_get_status_any",
                                                       "MPI_Request_get_status_some",
                                                       "MPI_Probe",
                                                       "MPI_Iprobe",
                                                       "MPI_Mprobe",
                                                       "MPI_Improbe",
                                                       "MPI_Send",
                                                       "MPI_Ssend",
                                                       "MPI_Rsend",
                                                       "MPI_Recv",
                                                       "MPI_Mrecv",
                                                       "MPI_Sendrecv",
                                                       "MPI_Sendrecv_replace",
                                                       "MPI_Pack",
                                                       "MPI_Pack_external",
                                                       "MPI_Unpack",
                                                       "MPI_Unpack_external",
                                                       "MPI_Reduce_local"};
  // Those of collectives.inc look themselves, when they know which way they go.
  constexpr std::array<std::string_view, 21> kCollectives{"MPI_Allgather",
                                                          "MPI_Allgatherv",
                                                          "MPI_Allreduce",
                                                          "MPI_Alltoall",
                                                          "MPI_Alltoallv",
                                                          "MPI_Alltoallw",
                                                          "MPI_Bcast",
                                                          "MPI_Exscan",
                                                          "MPI_Gather",
                                                          "MPI_Gatherv",
                                                          "MPI_Neighbor_allgather",
                                                          "MPI_Neighbor_allgatherv",
                                                          "MPI_Neighbor_alltoall",
                                                          "MPI_Neighbor_alltoallv",
                                                          "MPI_Neighbor_alltoallw",
                                                          "MPI_Reduce",
                                                          "MPI_Reduce_scatter",
                                                          "MPI_Reduce_scatter_block",
                                                          "MPI_Scan",
                                                          "MPI_Scatter",
                                                          "MPI_Scatterv"};
  const auto is_of = [name](const auto& all) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  // They only begin something, but may wait for other ranks.
  if (kind == CallKind::begins) return name == "MPI_Barrier_init" || name.ends_with("_begin");
  const bool waits = kind == CallKind::waits || kind == CallKind::tells ||
                     kind == CallKind::frees || kind == CallKind::leaves;
  return waits && !is_of(kAttended) && !is_of(kCollectives);
}

}  // namespace nearpeak::layer
