// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

const char* const kPortableCpp = R"(
#define GLOBAL
#define UNALIASED __restrict__
#define STRUCT_OF_16 struct alignas(16)
#define FUNCTION DEVICE
typedef long long i64;
DEVICE u64 thread_number() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE u64 thread_count() { return (u64)gridDim.x * blockDim.x; }
)";

const char* const kPortableOpenCl = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// Not as types of their own: a kernel's parameters are known by their names.
#define u32 uint
#define u64 ulong
#define i64 long
#define KERNEL kernel void
#define GLOBAL global
#define UNALIASED restrict
#define STRUCT_OF_16 struct __attribute__((aligned(16)))
#define FUNCTION
u64 thread_number() { return get_global_id(0); }
u64 thread_count() { return get_global_size(0); }
)";

}  // namespace nearpeak::kernels
