// SPDX-License-Identifier: Apache-2.0
// Does memory from a pool of managed memory hold what a kernel, the CPU or a copy has written? No
// MPI, and nothing of bench/. It counts the bytes that are wrong where each reads what another wrote,
// for pools that prefer no place, the device or the host, and for cudaMallocManaged.
//
//     nvcc -O2 -arch=sm_90 managed_pools.cu -o managed_pools && ./managed_pools
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                                         \
  do {                                                                   \
    const cudaError_t error = (call);                                    \
    if (error != cudaSuccess) {                                          \
      printf("%s: %s\n", #call, cudaGetErrorString(error));              \
      exit(1);                                                           \
    }                                                                    \
  } while (0)

using Byte = unsigned char;

constexpr int kAllocations = 20;
constexpr int kUses = 4;  // of each

__host__ __device__ Byte value(size_t i, int seed) { return Byte(i + seed); }

__global__ void fill(Byte* data, size_t bytes, int seed) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x)
    data[i] = value(i, seed);
}

__global__ void count_wrong(const Byte* data, size_t bytes, int seed, unsigned long long* wrong) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x)
    if (data[i] != value(i, seed)) atomicAdd(wrong, 1ull);
}

void put(Byte* data, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i) data[i] = value(i, seed);
}

unsigned long long wrong_in(const Byte* data, size_t bytes, int seed) {
  unsigned long long wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += data[i] != value(i, seed);
  return wrong;
}

int main() {
  const char* const names[] = {"pool, no place", "pool, device", "pool, host", "cudaMallocManaged"};
  const cudaMemLocationType places[] = {cudaMemLocationTypeNone, cudaMemLocationTypeDevice,
                                        cudaMemLocationTypeHost};
  int driver = 0;
  OK(cudaDriverGetVersion(&driver));
  printf("driver for CUDA %d\n", driver);
  cudaStream_t stream;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  unsigned long long* found;
  OK(cudaMalloc(&found, sizeof(*found)));
  for (int kind = 0; kind < 4; ++kind) {
    cudaMemPool_t pool = nullptr;
    if (kind < 3) {
      cudaMemPoolProps properties = {};
      properties.allocType = cudaMemAllocationTypeManaged;
      properties.location.type = places[kind];
      OK(cudaMemPoolCreate(&pool, &properties));
    }
    for (const size_t bytes : {size_t(8), size_t(1) << 10, size_t(64) << 10, size_t(4) << 20}) {
      unsigned long long by_kernel = 0, by_cpu = 0, copied_in = 0, copied_out = 0;
      Byte* const host = static_cast<Byte*>(malloc(bytes));
      Byte* data = nullptr;
      for (int allocation = 0; allocation < kAllocations; ++allocation) {
        if (pool != nullptr)
          OK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&data), bytes, pool, 0));
        else
          OK(cudaMallocManaged(&data, bytes));
        OK(cudaStreamSynchronize(0));
        for (int use = 0; use < kUses; ++use) {
          const int seed = 3 * (kUses * allocation + use) + 1;
          fill<<<32, 256, 0, stream>>>(data, bytes, seed);
          OK(cudaStreamSynchronize(stream));
          by_kernel += wrong_in(data, bytes, seed);
          put(data, bytes, seed + 1);
          unsigned long long wrong = 0;
          OK(cudaMemcpyAsync(found, &wrong, sizeof(wrong), cudaMemcpyDefault, stream));
          count_wrong<<<32, 256, 0, stream>>>(data, bytes, seed + 1, found);
          OK(cudaMemcpyAsync(&wrong, found, sizeof(wrong), cudaMemcpyDefault, stream));
          OK(cudaStreamSynchronize(stream));
          by_cpu += wrong;
          put(host, bytes, seed + 2);
          OK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyDefault, stream));
          OK(cudaStreamSynchronize(stream));
          copied_in += wrong_in(data, bytes, seed + 2);
          put(data, bytes, seed + 3);
          OK(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDefault, stream));
          OK(cudaStreamSynchronize(stream));
          copied_out += wrong_in(host, bytes, seed + 3);
        }
        OK(pool != nullptr ? cudaFreeAsync(data, 0) : cudaFree(data));
        OK(cudaStreamSynchronize(0));
      }
      free(host);
      printf("%-18s %8zu B: wrong bytes: kernel to CPU %llu, CPU to kernel %llu, copy in to CPU %llu, "
             "CPU to copy out %llu\n",
             names[kind], bytes, by_kernel, by_cpu, copied_in, copied_out);
    }
    if (pool != nullptr) OK(cudaMemPoolDestroy(pool));
  }
}
