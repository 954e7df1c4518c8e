// SPDX-License-Identifier: Apache-2.0
// The calls that complete requests, or ask after them.
#pragma once

#include "calls/real.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {

int wait(MPI_Request* request, MPI_Status* status);
int wait_all(int n, MPI_Request* requests, MPI_Status* statuses);
int wait_any(int n, MPI_Request* requests, int* which, MPI_Status* status);
int wait_some(int n, MPI_Request* requests, int* done, int* which, MPI_Status* statuses);
int test(MPI_Request* request, int* flag, MPI_Status* status);
int test_all(int n, MPI_Request* requests, int* flag, MPI_Status* statuses);
int test_any(int n, MPI_Request* requests, int* which, int* flag, MPI_Status* status);
int test_some(int n, MPI_Request* requests, int* done, int* which, MPI_Status* statuses);
int get_status(MPI_Request request, int* flag, MPI_Status* status);
#if NEARPEAK_MPI_LEVEL >= 41
int get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int get_status_any(int n, const MPI_Request* requests, int* which, int* flag, MPI_Status* status);
int get_status_some(int n, const MPI_Request* requests, int* done, int* which,
                    MPI_Status* statuses);
#endif
int free_of_application(MPI_Request* request);
int start(MPI_Request* request);
int start_all(int n, MPI_Request* requests);

}  // namespace nearpeak::layer
