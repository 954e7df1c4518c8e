// SPDX-License-Identifier: Apache-2.0
// The persistent collective operations of MPI 4 (sections 6.13 and 8.8), which not every library
// has, nor every mpi.h: null where the library that was loaded does not.
#pragma once

#include <mpi.h>

extern "C" {
#define NEARPEAK_WEAK __attribute__((weak))
int MPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Bcast_init(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Gather_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                    MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Gatherv_init(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                     int, MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Scatter_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm,
                     MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Scatterv_init(const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype,
                      int, MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Allgather_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info,
                       MPI_Request*) NEARPEAK_WEAK;
int MPI_Allgatherv_init(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                        MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Alltoall_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info,
                      MPI_Request*) NEARPEAK_WEAK;
int MPI_Alltoallv_init(const void*, const int*, const int*, MPI_Datatype, void*, const int*,
                       const int*, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Alltoallw_init(const void*, const int*, const int*, const MPI_Datatype*, void*, const int*,
                       const int*, const MPI_Datatype*, MPI_Comm, MPI_Info,
                       MPI_Request*) NEARPEAK_WEAK;
int MPI_Reduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info,
                    MPI_Request*) NEARPEAK_WEAK;
int MPI_Allreduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                       MPI_Request*) NEARPEAK_WEAK;
int MPI_Reduce_scatter_init(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm,
                            MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Reduce_scatter_block_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                                  MPI_Request*) NEARPEAK_WEAK;
int MPI_Scan_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                  MPI_Request*) NEARPEAK_WEAK;
int MPI_Exscan_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                    MPI_Request*) NEARPEAK_WEAK;
int MPI_Neighbor_allgather_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                                MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Neighbor_allgatherv_init(const void*, int, MPI_Datatype, void*, const int*, const int*,
                                 MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Neighbor_alltoall_init(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                               MPI_Info, MPI_Request*) NEARPEAK_WEAK;
int MPI_Neighbor_alltoallv_init(const void*, const int*, const int*, MPI_Datatype, void*,
                                const int*, const int*, MPI_Datatype, MPI_Comm, MPI_Info,
                                MPI_Request*) NEARPEAK_WEAK;
int MPI_Neighbor_alltoallw_init(const void*, const int*, const MPI_Aint*, const MPI_Datatype*,
                                void*, const int*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm,
                                MPI_Info, MPI_Request*) NEARPEAK_WEAK;
#undef NEARPEAK_WEAK
}
