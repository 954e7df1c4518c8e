// SPDX-License-Identifier: Apache-2.0
// What applications ask MPI before they give it buffers on devices. While the layer is on the
// answer is yes, else the MPI library's own.
#pragma once

#include "calls/real.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {

// Adds the kinds of memory that the layer takes to those in the info of a communicator, a session
// or a window that is not dynamic (mpi_memory_alloc_kinds, MPI-4.1, 12.4.3).
int with_kinds(int code, const MPI_Info* info);
// Takes them out of the info of a file, which none of them is for. MPICH asks the communicator.
int without_kinds(int code, const MPI_Info* info);

// The same of MPI_INFO_ENV, which is read-only in MPICH: its value is asked, by these.
int get_info(MPI_Info info, const char* key, int room, char* value, int* flag);
int get_info_length(MPI_Info info, const char* key, int* length, int* flag);
#if NEARPEAK_MPI_LEVEL >= 40
int get_info_string(MPI_Info info, const char* key, int* room, char* value, int* flag);
#endif

}  // namespace nearpeak::layer
