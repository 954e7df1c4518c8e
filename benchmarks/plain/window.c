// SPDX-License-Identifier: Apache-2.0
// Windows of messages between the memory of two devices, for layer_instructions.py: what either rank
// finds is there already, so that nothing depends on time. Callgrind counts the last WINDOWS of them.
//   mpirun -n 2 window BYTES MESSAGES WARM-UP WINDOWS FILE    FILE: of zeros, which both ranks map
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { kMost = 1024 };
static MPI_Request all[kMost];
static char* buffer;
static int bytes, messages;

static void post_all(void) {
  for (int i = 0; i < messages; ++i)
    MPI_Irecv(buffer + (size_t)bytes * i, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, all + i);
}
static void send_all(void) {
  for (int i = 0; i < messages; ++i)
    MPI_Isend(buffer + (size_t)bytes * i, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, all + i);
}
static void wait_all(void) {
  MPI_Waitall(messages, all, MPI_STATUSES_IGNORE);
}

// The driver's function of this name.
static int (*driver(const char* name))() {
  static void* library;
  if (!library) library = dlopen(getenv("NEARPEAK_CUDA_LIBRARY"), RTLD_NOW);
  int (*const found)() = library ? (int (*)())dlsym(library, name) : NULL;
  if (!found && fprintf(stderr, "window: no %s\n", name)) exit(1);
  return found;
}

static void counted(void (*step)(void), int is_counted) {
  if (is_counted) CALLGRIND_TOGGLE_COLLECT;
  step();
  if (is_counted) CALLGRIND_TOGGLE_COLLECT;
}

static void await(atomic_int* steps, int step) {
  while (atomic_load(steps) < step) sched_yield();
}

int main(int argc, char** argv) {
  int rank;
  void* context;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bytes = atoi(argv[1]);
  messages = atoi(argv[2]) < kMost ? atoi(argv[2]) : kMost;
  const int warm = atoi(argv[3]), windows = warm + atoi(argv[4]);
  atomic_int* const steps =
      mmap(NULL, sizeof(atomic_int), PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[5], O_RDWR), 0);
  driver("cuInit")(0U);
  driver("cuDevicePrimaryCtxRetain")(&context, rank);
  driver("cuCtxSetCurrent")(context);
  if (driver("cuMemAlloc_v2")(&buffer, (size_t)bytes * messages) != 0) return 1;
  // Either rank ends its step, and waits for the other's: posted, sent, received.
  for (int i = 0, step = 0; i < windows; ++i) {
    if (i == 1 || i == warm - 1) sleep(3);  // the layer compiles meanwhile
    if (rank == 1) {
      counted(post_all, i >= warm);
      atomic_fetch_add(steps, 1);
      await(steps, step + 2);
      counted(wait_all, i >= warm);
      atomic_fetch_add(steps, 1);
    } else {
      await(steps, step + 1);
      counted(send_all, i >= warm);
      atomic_fetch_add(steps, 1);
      await(steps, step + 3);
      counted(wait_all, i >= warm);
    }
    step += 3;
  }
  MPI_Finalize();
  return 0;
}
