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

// Requests that are started together, and messages in parts.
static void again(void) {
  MPI_Request requests[2];
  if (rank < 2) {
    MPI_Send_init(data, 8, MPI_BYTE, 1 - rank, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(other, 16, MPI_BYTE, 1 - rank, 4, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
  MPI_Allreduce_init(data, other, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
  for (int i = 0; i < 2; i++) {
    MPI_Start(requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(requests);
  if (rank > 1) return;
  int parts[] = {7, 6, 5, 4}, flag;
  if (rank == 0)
    MPI_Psend_init(data, 8, 100, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
  else
    MPI_Precv_init(other, 8, 100, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
  for (int i = 0; i < 2; i++) {
    MPI_Start(requests);
    if (rank == 0) {
      MPI_Pready(0, requests[0]);
      MPI_Pready_range(1, 3, requests[0]);
      MPI_Pready_list(4, parts, requests[0]);
    } else {
      MPI_Parrived(requests[0], 0, &flag);
    }
    MPI_Wait(requests, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(requests);
#endif
}

// More than an int counts: what is there is one MiB, again and again.
static void large(void) {
  MPI_Datatype type;
  MPI_Type_create_hvector((1 << 11) + 1, 1 << 20, 0, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Send(data, 2, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(data, 1, type, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(other, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
#if MPI_VERSION >= 4
  MPI_Send_c(data, (MPI_Count)5 << 30, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
#endif
}

// A message to the next rank, whose number here is another one than in MPI_COMM_WORLD.
static void to_next(MPI_Comm comm) {
  int own, size;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv(data, 8, MPI_BYTE, (own + 1) % size, 0, other, 8, MPI_BYTE, (own + size - 1) % size,
               0, comm, MPI_STATUS_IGNORE);
}

static void makes(void) {
  MPI_Comm made, sub, both;
  MPI_Request request;
  MPI_Group group;
  MPI_Win window;
  void* memory;
  int none = 0, keep = 1, size = ranks;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made);
  to_next(made);
  // The other rank of two, by a group that is this rank's alone.
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &sub);
  if (ranks == 2) {
    MPI_Intercomm_create(sub, 0, MPI_COMM_WORLD, 1 - rank, 9, &both);
    MPI_Sendrecv(data, 8, MPI_BYTE, 0, 0, other, 8, MPI_BYTE, 0, 0, both, MPI_STATUS_IGNORE);
    MPI_Comm merged;
    MPI_Intercomm_merge(both, rank, &merged);
    to_next(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&both);
  }
  MPI_Comm_free(&sub);
  MPI_Comm_free(&made);
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
  MPI_Group_free(&group);
  MPI_Comm_free(&made);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &none, 0, &made);
  MPI_Cart_sub(made, &keep, &sub);
  MPI_Comm_free(&sub);
  MPI_Comm_free(&made);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_free(&window);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_free(&window);
}

// Between rank 0 and all others: counts are those of the own group, as of the data that each gives.
static void groups(void) {
  MPI_Comm sub, both;
  const int mine = rank == 0 ? 1 : ranks - 1, all = 2 * (ranks - 1);
  int counts[64];
  for (int i = 0; i < 64; i++) counts[i] = i < mine ? all / mine : 1000;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &sub);
  MPI_Intercomm_create(sub, 0, MPI_COMM_WORLD, rank == 0, 9, &both);
  MPI_Reduce_scatter(data, other, counts, MPI_INT, MPI_SUM, both);
  MPI_Reduce_scatter_block(data, other, counts[0], MPI_INT, MPI_SUM, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&sub);
}

static void within(void) {
  int place = 0;
  MPI_Pack(data, 4, MPI_INT, other, 100, &place, MPI_COMM_WORLD);
  place = 0;
  MPI_Unpack(other, 100, &place, data, 4, MPI_INT, MPI_COMM_WORLD);
  MPI_Reduce_local(data, other, 4, MPI_INT, MPI_SUM);
}

static void files(const char* name) {
  MPI_File file;
  MPI_Request request;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 1000 * rank, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  // Beyond its end: so many come.
  MPI_File_read_at(file, 1000 * ranks - 500, other, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_iread_at(file, 0, other, 100, MPI_BYTE, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 1000 * rank, data, 16, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

// To and from nobody: it has a size, and nothing is moved.
static void nobody(void) {
  MPI_Request request;
  MPI_Win window;
  MPI_Sendrecv(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, other, 8, MPI_BYTE, MPI_PROC_NULL, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Isend(data, 16, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Irecv(other, 32, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Send_init(data, 64, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Win_create(other, sizeof other, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(data, 128, MPI_BYTE, MPI_PROC_NULL, 0, 128, MPI_BYTE, window);
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

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define SESSIONS
static MPI_Session opened(void) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  return session;
}

static void in_session(void) {
  MPI_Session session = opened();
  MPI_Group group;
  MPI_Comm made;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "known", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
  to_next(made);
  MPI_Comm_free(&made);
  MPI_Session_finalize(&session);
}
#endif

static void broadcasts(int n) {
  for (int i = 0; i < n; i++) MPI_Bcast(data, 1024, MPI_BYTE, 0, MPI_COMM_WORLD);
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
#ifdef SESSIONS
  if (!strcmp(what, "session")) {
    in_session();
    return 0;
  }
  if (!strcmp(what, "sessions")) {
    in_session();
    in_session();
    return 0;
  }
  if (!strcmp(what, "session, then world")) {
    MPI_Session session = opened();
    MPI_Session_finalize(&session);
    MPI_Init(&argc, &argv);
    broadcasts(1000);
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "world in session")) {
    MPI_Session session = opened();
    MPI_Init(&argc, &argv);
    broadcasts(1);
    MPI_Session_finalize(&session);
    broadcasts(999);
    MPI_Finalize();
    return 0;
  }
#endif
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!strcmp(what, "more")) {
    again();
    makes();
    within();
    files(argv[2]);
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "groups")) {
    groups();
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "nobody")) {
    nobody();
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "large")) {
    large();
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "late")) {  // the driver is loaded when MPI was called already
    MPI_Send(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    usleep(50000);
    MPI_Send(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    dlopen("libcuda.so.1", RTLD_NOW);
    usleep(50000);
    MPI_Send(data, 16, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
  if (!strcmp(what, "next")) {
    to_next(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
  }
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
