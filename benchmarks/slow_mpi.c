// SPDX-License-Identifier: Apache-2.0
// Preloaded, it makes MPI slower: after each call, rank 0 spins for a share of the time of the
// call.
//
//   cc -O2 -shared -fPIC slow_mpi.c -o libslow_mpi.so -ldl
//   NEARPEAK_SLOWER=0.1 LD_PRELOAD=./libslow_mpi.so mpiexec ...
//
// Rank 0 alone, as its calls take the whole of a round trip: with both, the loss would be twice the
// share. Independent of a library's mpi.h: arguments are passed on as the registers hold them, of
// which no call here needs more than seven (x86-64 and AArch64).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

typedef long Word;
typedef Word (*Call)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double share(void) {
  static double found = -1;
  if (found < 0) {
    const char* wanted = getenv("NEARPEAK_SLOWER");
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    found = wanted && rank && atoi(rank) == 0 ? atof(wanted) : 0;
  }
  return found;
}

#define SLOWER(name)                                                                        \
  Word name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, \
            Word k, Word l) {                                                               \
    static Call real;                                                                       \
    if (!real) real = (Call)dlsym(RTLD_NEXT, "P" #name);                                    \
    double begin = now();                                                                   \
    Word result = real(a, b, c, d, e, f, g, h, i, j, k, l);                                 \
    double end = now();                                                                     \
    double until = end + share() * (end - begin);                                           \
    while (share() > 0 && now() < until) {                                                  \
    }                                                                                       \
    return result;                                                                          \
  }

SLOWER(MPI_Send)
SLOWER(MPI_Recv)
SLOWER(MPI_Isend)
SLOWER(MPI_Irecv)
SLOWER(MPI_Wait)
SLOWER(MPI_Waitall)
SLOWER(MPI_Sendrecv)
SLOWER(MPI_Allreduce)
