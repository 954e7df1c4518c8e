// SPDX-License-Identifier: Apache-2.0
// Ping-pongs and windows of messages between two ranks, by MPI and the CUDA runtime alone.
//   mpirun -n 2 plain H,D 0,1 8:64 1024:64    memory and GPUs (- none) of both, SIZE:WINDOW...
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef PLAIN_CUDA
#include <cuda_runtime_api.h>
#define CUDA(call) stop_if((call) != cudaSuccess, #call)
#else
#define CUDA(call) stop_if(1, "CUDA, without which this program was built,")
#endif

enum { kMany = 201, kFew = 15, kSampleUs = 250, kLine = 64, kPage = 4096, kMostWindow = 64 };
static int rank, device, bytes, window, stride;  // stride: bytes from a message to the next
static char *out, *in;

static void stop_if(int wrong, const char* what) {
  if (wrong && fprintf(stderr, "plain: %s failed on rank %d\n", what, rank))
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static char* filled(int length, int value) {
  char* memory = NULL;
  if (device) {
    CUDA(cudaMalloc((void**)&memory, length));
    CUDA(cudaMemset(memory, value, length));
    CUDA(cudaDeviceSynchronize());
  } else {
    stop_if(posix_memalign((void**)&memory, kPage, length), "allocation");
    memset(memory, value, length);
  }
  return memory;
}

static void ping_pong(void) {
  if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

static void one_way(void) {
  MPI_Request all[kMostWindow];
  for (int i = 0; i < window; ++i)
    rank == 0 ? MPI_Isend(out + stride * i, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, all + i)
              : MPI_Irecv(in + stride * i, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, all + i);
  MPI_Waitall(window, all, MPI_STATUSES_IGNORE);
  rank == 0 ? MPI_Recv(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
            : MPI_Send(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

static double timed(void (*exchange)(void), int count) {  // seconds on rank 0, for both
  double seconds = -MPI_Wtime();
  for (int i = 0; i < count; ++i) exchange();
  seconds += MPI_Wtime();
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return seconds;
}

static int ascending(const void* a, const void* b) {
  return *(const double*)a < *(const double*)b ? -1 : 1;
}

static double measured(void (*exchange)(void), int messages) {  // seconds: a median of samples
  out = filled(stride * messages, 1 + rank), in = filled(stride * messages, 0);
  double samples[kMany], count = 1, taken = 0;
  for (int i = 0; i < 3; ++i)  // a rank that lost its CPU once must not end this
    while ((taken = timed(exchange, count)) * 1e6 < kSampleUs) count *= 2;
  const int n = taken < 5e-3 ? kMany : kFew;  // Intel MPI's first tens of windows are slow
  for (int i = 0; i < n; ++i) samples[i] = timed(exchange, count) / count;
  qsort(samples, n, sizeof *samples, ascending);
  char got = device ? 0 : in[bytes - 1];
  if (device) CUDA(cudaMemcpy(&got, in + bytes - 1, 1, cudaMemcpyDefault));
  stop_if(got != 2 - rank && (rank == 1 || exchange == ping_pong), "receiving the right data");
  if (device) CUDA(cudaFree(out)), CUDA(cudaFree(in));
  if (!device) free(out), free(in);
  return samples[n / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  device = argv[1][2 * rank] == 'D';
  if (argv[2][2 * rank] != '-') {
    int gpus = 0;
    char pci[32];
    CUDA(cudaGetDeviceCount(&gpus));
    CUDA(cudaSetDevice((argv[2][2 * rank] - '0') % gpus));
    CUDA(cudaDeviceGetPCIBusId(pci, sizeof pci, (argv[2][2 * rank] - '0') % gpus));
    printf("gpu %d %s\n", rank, pci);
  }
  for (int i = 3; i < argc; ++i) {
    stop_if(sscanf(argv[i], "%d:%d", &bytes, &window) != 2, "reading SIZE:WINDOW");
    stride = (bytes + kLine - 1) / kLine * kLine;
    const double latency = measured(ping_pong, 1) / 2 * 1e6, seconds = measured(one_way, window);
    if (rank == 0) printf("%d B %g us %g GB/s\n", bytes, latency, 1e-9 * bytes * window / seconds);
  }
  return MPI_Finalize();
}
