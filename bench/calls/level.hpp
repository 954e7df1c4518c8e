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
