// SPDX-License-Identifier: Apache-2.0
// Which functions a header of MPI has; after mpi.h.
#pragma once

// NEARPEAK_MPI_LEVEL: the version of MPI whose functions there are: 31, 40, 41.
#ifdef OMPI_MAJOR_VERSION  // 5 has what MPI 4.0 has but for large counts
#define NEARPEAK_MPI_LEVEL (OMPI_MAJOR_VERSION >= 5 ? 40 : 31)
#else
#define NEARPEAK_MPI_LEVEL (MPI_VERSION * 10 + MPI_SUBVERSION)
#endif
#define NEARPEAK_LARGE_COUNTS (MPI_VERSION >= 4)

// The parts of MPI_Pready_list are const int* in the standard, and int* in Open MPI 5 and
// MPICH 4.0: as the header has it.
#if NEARPEAK_MPI_LEVEL >= 40
namespace nearpeak::calls {
template <typename Parts>
Parts parts_of(int (*)(int, Parts, MPI_Request));
using PartsOfPready = decltype(parts_of(&MPI_Pready_list));
}  // namespace nearpeak::calls
#endif
