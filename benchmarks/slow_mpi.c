// SPDX-License-Identifier: Apache-2.0
// Preloaded, it makes MPI slower: rank 0 spins for a share of the time that it spent in MPI, where it
// has received what it waited for and nothing is on its way that would hide it.
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

static double owed;  // seconds

static void spin(void) {
  const double until = now() + owed;
  while (owed > 0 && now() < until) {
  }
  owed = 0;
}

#define WRAPPED(name, then)                                                                 \
  Word name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, \
            Word k, Word l) {                                                               \
    static Call real;                                                                       \
    if (!real) real = (Call)dlsym(RTLD_NEXT, "P" #name);                                    \
    const double begin = now();                                                             \
    const Word result = real(a, b, c, d, e, f, g, h, i, j, k, l);                           \
    owed += share() * (now() - begin);                                                      \
    then;                                                                                   \
    return result;                                                                          \
  }

WRAPPED(MPI_Send, )
WRAPPED(MPI_Isend, )
WRAPPED(MPI_Irecv, )
WRAPPED(MPI_Waitall, )
WRAPPED(MPI_Recv, spin())
WRAPPED(MPI_Wait, spin())
WRAPPED(MPI_Sendrecv, spin())
WRAPPED(MPI_Allreduce, spin())
