// SPDX-License-Identifier: Apache-2.0
// How long do many short copies within a GPU take, from the call until the CPU knows that they are
// there: one by one by the copy engine, in several streams, as one batch of the driver's, and by one
// kernel? No MPI, and nothing of bench/. Medians of 60 tries.
//
//     nvcc -O2 -std=c++17 -arch=sm_90 batched_copies.cu -o batched_copies -lcuda && ./batched_copies
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <vector>

constexpr int kMost = 64;

struct Pieces {
  struct {
    const char* from;
    char* to;
    size_t bytes;
  } all[kMost];
};

// `blocks` blocks share a piece.
__global__ void copy_all(const __grid_constant__ Pieces pieces, unsigned blocks) {
  const auto piece = pieces.all[blockIdx.x / blocks];
  const uint4* from = (const uint4*)piece.from;
  uint4* to = (uint4*)piece.to;
  const size_t words = piece.bytes / 16, step = (size_t)blocks * blockDim.x;
  size_t i = (size_t)(blockIdx.x % blocks) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < words; i += 4 * step) {
    const uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a;
    to[i + step] = b;
    to[i + 2 * step] = c;
    to[i + 3 * step] = d;
  }
  for (; i < words; i += step) to[i] = from[i];
  if (blockIdx.x % blocks > 0) return;
  for (size_t k = words * 16 + threadIdx.x; k < piece.bytes; k += blockDim.x)
    piece.to[k] = piece.from[k];
}

template <class Copies>
double median_us(const Copies& copies) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> us;
  for (int i = 0; i < 60; ++i) {
    const auto begin = Clock::now();
    copies();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::nth_element(us.begin(), us.begin() + 30, us.end());
  return us[30];
}

int main() {
  constexpr size_t kRoom = 64 << 20;
  char *from, *to;
  cudaMalloc(&from, kRoom);
  cudaMalloc(&to, kRoom);
  cudaStream_t streams[4];
  for (auto& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  printf("copies of bytes: us one by one, in 4 streams, as a batch, by a kernel (its launch)\n");
  for (int count : {2, 8, 16, 32, 64})
    for (size_t bytes : {8, 4096, 65536, 262144, 1048576}) {
      Pieces pieces{};
      std::vector<CUdeviceptr> tos, froms;
      for (int i = 0; i < count; ++i) {
        pieces.all[i] = {from + i * bytes, to + i * bytes, bytes};
        tos.push_back((CUdeviceptr)to + i * bytes);
        froms.push_back((CUdeviceptr)from + i * bytes);
      }
      const auto copy = [&](int i, cudaStream_t on) {
        cudaMemcpyAsync(to + i * bytes, from + i * bytes, bytes, cudaMemcpyDeviceToDevice, on);
      };
      const double one_by_one = median_us([&] {
        for (int i = 0; i < count; ++i) copy(i, streams[0]);
        cudaStreamSynchronize(streams[0]);
      });
      const double in_streams = median_us([&] {
        for (int i = 0; i < count; ++i) copy(i, streams[i % 4]);
        for (auto stream : streams) cudaStreamSynchronize(stream);
      });
      std::vector<size_t> sizes(count, bytes);
      CUmemcpyAttributes attributes{};
      attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
      size_t first = 0;
      const double batch = median_us([&] {
        if (cuMemcpyBatchAsync(tos.data(), froms.data(), sizes.data(), count, &attributes, &first,
                               1, streams[0]) != CUDA_SUCCESS)
          exit(1);
        cudaStreamSynchronize(streams[0]);
      });
      const unsigned blocks = std::max<size_t>(1, std::min<size_t>(16, bytes / 8192));
      const auto launch = [&] { copy_all<<<count * blocks, 256, 0, streams[0]>>>(pieces, blocks); };
      const double kernel = median_us([&] {
        launch();
        cudaStreamSynchronize(streams[0]);
      });
      const double alone = median_us(launch);
      cudaDeviceSynchronize();
      printf("%2d of %7zu: %6.1f %6.1f %6.1f %5.1f (%.1f)\n", count, bytes, one_by_one, in_streams,
             batch, kernel, alone);
    }
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
