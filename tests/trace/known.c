// SPDX-License-Identifier: Apache-2.0
// An application whose calls are known (test_launches.py), on two ranks or more: those beyond the
// second take part in what all do.
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PROFILED  // as the Fortran bindings of some libraries do
#define MPI_Init PMPI_Init
#define MPI_Finalize PMPI_Finalize
#define MPI_Send PMPI_Send
#define MPI_Recv PMPI_Recv
#define MPI_Isend PMPI_Isend
#define MPI_Waitall PMPI_Waitall
#define MPI_Allreduce PMPI_Allreduce
#endif

static char data[1 << 20], other[1 << 20];
static int rank, ranks;

static void blocking(void) {
  if (rank == 0)
    for (int i = 0; i < 100; i++) MPI_Send(data, 1000, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  // Room for more than comes, and from whomever.
  if (rank == 1)
    for (int i = 0; i < 100; i++)
      MPI_Recv(other, 5000, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Status status;
  int count = 0;
  if (rank == 0) MPI_Ssend(data, 3, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(other, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    if (count != 3) abort();  // the application sees what it would see
  }
  MPI_Sendrecv(data, 64, MPI_CHAR, rank, 1, other, 64, MPI_CHAR, rank, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Send(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void nonblocking(void) {
  MPI_Request requests[4];
  if (rank < 2) {
    for (int i = 0; i < 5; i++) {
      MPI_Irecv(other, 4096, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(data, 4096, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request request;
    if (rank == 0)
      MPI_Send_init(data, 100, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, &request);
    else
      MPI_Recv_init(data, 100, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 7; i++) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  }
}

// A type of every size, each of which may get the handle of the one before.
static void types(void) {
  for (int i = 1; i <= 4; i++) {
    MPI_Datatype type;
    MPI_Type_contiguous(i, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (rank == 0) MPI_Bsend(data, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
}

static void all(void) {
  MPI_Request request;
  for (int i = 0; i < 10; i++) MPI_Allreduce(data, other, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, other, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Iallreduce(data, other, 32, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Bcast(data, 300, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(data, 10, MPI_BYTE, other, 10, MPI_BYTE, MPI_COMM_WORLD);
  int counts[64], places[64];
  for (int i = 0; i < ranks; i++) counts[i] = i + 1, places[i] = 100 * i;
  MPI_Allgatherv(data, rank + 1, MPI_BYTE, other, counts, places, MPI_BYTE, MPI_COMM_WORLD);
  MPI_Alltoallv(data, counts, places, MPI_BYTE, other, counts, places, MPI_BYTE, MPI_COMM_SELF);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Sendrecv(data, 8, MPI_BYTE, (rank + 1) % ranks, 0, other, 8, MPI_BYTE,
               (rank + ranks - 1) % ranks, 0, copy, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
}

static void one_sided(void) {
  MPI_Win window;
  MPI_Win_create(other, sizeof other, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Put(data, 2048, MPI_BYTE, 1, 0, 2048, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

#define THREADS 4
#define EACH 1000

static void* send_much(void* bytes) {
  for (int i = 0; i < EACH; i++)
    MPI_Send(data, *(int*)bytes, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return 0;
}

static void threads(void) {
  pthread_t started[THREADS];
  int bytes = 16;
  for (int i = 0; i < THREADS; i++) pthread_create(&started[i], 0, send_much, &bytes);
  for (int i = 0; i < THREADS; i++) pthread_join(started[i], 0);
#if MPI_VERSION >= 4
  MPI_Send_c(data, 16, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
#else
  MPI_Send(data, 16, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
#endif
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "cuda")) dlopen("libcuda.so.1", RTLD_NOW);
  if (!strcmp(what, "threads")) {
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    threads();
    MPI_Finalize();
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  blocking();
  if (!strcmp(what, "killed")) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) kill(getpid(), SIGKILL);
    pause();
  }
  if (!strcmp(what, "aborted")) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 5);
    pause();  // of some libraries it comes back, and the launcher ends the rank a little later
  }
  nonblocking();
  types();
  all();
  one_sided();
  MPI_Finalize();
  return !strcmp(what, "failed") && rank == 0 ? 7 : 0;
}
