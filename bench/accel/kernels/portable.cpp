// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {
namespace {

// The same in every language: a mixer of 32 bits with little bias, from Chris Wellons's search for
// such functions (nullprogram.com/blog/2018/07/31).
const std::string kScrambled = R"(
FUNCTION u32 scrambled(u32 x) {
  x = (x ^ (x >> 15)) * 0x2C1B3C6Du;
  x = (x ^ (x >> 12)) * 0x297A2D39u;
  return x ^ (x >> 15);
}
)";

// A tree, likewise.
const std::string kSumOfBlock = R"(
FUNCTION void put_sum_of_block(GLOBAL double* sum, LOCAL double* parts, double mine) {
  const u32 thread = number_in_block();
  parts[thread] = mine;
  for (u32 left = block_size() / 2; left > 0; left /= 2) {
    wait_for_block();
    if (thread < left) parts[thread] += parts[thread + left];
  }
  if (thread == 0) *sum = parts[0];
}
)";

const std::string kCpp = R"(
#define GLOBAL
#define UNALIASED __restrict__
#define STRUCT_OF_16 struct alignas(16)
#define FUNCTION DEVICE
typedef long long i64;
DEVICE u64 thread_number() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE u64 thread_count() { return (u64)gridDim.x * blockDim.x; }
DEVICE u64 block_number() { return blockIdx.x; }
)" + kScrambled + R"(
#ifndef PARTS_OF_SUM  // where threads of a block run one after the other, they cannot wait
typedef double PartsOfSum[256];
#define PARTS_OF_SUM(name) OF_BLOCK(PartsOfSum, name)
#define LOCAL
DEVICE u32 number_in_block() { return threadIdx.x; }
DEVICE u32 block_size() { return blockDim.x; }
DEVICE void wait_for_block() { block_meets(); }
)" + kSumOfBlock + "#endif\n";

const std::string kOpenCl = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// Not as types of their own: a kernel's parameters are known by their names.
#define u32 uint
#define u64 ulong
#define i64 long
#define KERNEL kernel void
#define GLOBAL global
#define LOCAL local
#define UNALIASED restrict
#define STRUCT_OF_16 struct __attribute__((aligned(16)))
#define FUNCTION
#define PARTS_OF_SUM(name) local double name[256]
u64 thread_number() { return get_global_id(0); }
u64 thread_count() { return get_global_size(0); }
u64 block_number() { return get_group_id(0); }
u32 number_in_block() { return (u32)get_local_id(0); }
u32 block_size() { return (u32)get_local_size(0); }
void wait_for_block() { barrier(CLK_LOCAL_MEM_FENCE); }
)" + kScrambled + kSumOfBlock;

}  // namespace

std::string portable_in_cpp(const std::string& source) { return kCpp + source; }
std::string portable_in_opencl(const std::string& source) { return kOpenCl + source; }

}  // namespace nearpeak::kernels
