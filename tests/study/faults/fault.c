/* SPDX-License-Identifier: Apache-2.0
 * A library that misbehaves: preloaded, it stands between a program and its MPI library.
 *
 * NEARPEAK_FAULT=crash, hang or corrupt: what rank 1 does in its 5th MPI_Recv; corrupt changes one
 * byte of that message and of every later one. Where rank 1 hangs, rank 0 sleeps in its 5th, which
 * would poll for an answer. put-crash: rank 0 crashes in its 5th MPI_Put.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looked up, not linked: the launcher, which has no MPI library, is preloaded too. For the same
 * reason nothing names MPI_COMM_WORLD, a variable of the library in Open MPI. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
  static int calls = 0;
  const char *fault = getenv("NEARPEAK_FAULT");
  int rank = 0;
  REAL(PMPI_Comm_rank)(comm, &rank);
  const int fifth = fault && ++calls >= 5, due = fifth && rank == 1;
  if (due && strcmp(fault, "crash") == 0) raise(SIGSEGV);
  while (fifth && strcmp(fault, "hang") == 0) pause();
  const int result = REAL(PMPI_Recv)(data, count, type, source, tag, comm, status);
  if (due && strcmp(fault, "corrupt") == 0 && count > 3) ((unsigned char *)data)[3] ^= 1;
  return result;
}

int MPI_Put(const void *data, int count, MPI_Datatype type, int target, MPI_Aint displacement,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  static int calls = 0;
  const char *fault = getenv("NEARPEAK_FAULT");
  if (fault && ++calls >= 5 && strcmp(fault, "put-crash") == 0) raise(SIGSEGV);
  return REAL(PMPI_Put)(data, count, type, target, displacement, target_count, target_type, window);
}
