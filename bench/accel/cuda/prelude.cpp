// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/prelude.hpp"

namespace nearpeak::cuda {

const char* const kPrelude = R"cuda(
#ifndef NEARPEAK_PRELUDE
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE __device__ inline  // for functions, members too
// Of blocks of up to 256 threads: for more there may be no registers, unless the compiler is told.
#define KERNEL extern "C" __global__ void
// Of up to 512.
#define WIDE_KERNEL extern "C" __global__ void __launch_bounds__(512)
// One that waits for CPUs or for other kernels, or whose threads wait for each other; likewise.
#define WAITING_KERNEL extern "C" __global__ void __launch_bounds__(512)
// Of the threads of a block, of any value before one of them has written it.
#define OF_BLOCK(type, name) __shared__ type name

// What others may write meanwhile, CPUs and other GPUs too: not out of a cache, and in one piece.
typedef uint4 Quad;
DEVICE Quad quad(u32 x, u32 y, u32 z, u32 w) { return make_uint4(x, y, z, w); }
DEVICE u8 look(const u8* at) { return *(const volatile u8*)at; }
DEVICE u32 look(const u32* at) { return *(const volatile u32*)at; }
DEVICE u64 look(const u64* at) { return *(const volatile u64*)at; }
DEVICE Quad look(const Quad* at) {
  Quad got;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w)
               : "l"(at));
  return got;
}
DEVICE void put(u32* at, u32 value) { *(volatile u32*)at = value; }
DEVICE void put(u64* at, u64 value) { *(volatile u64*)at = value; }
DEVICE void put(Quad* at, Quad value) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};"
               :: "l"(at), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}
// Who sees what is stored after it sees what was stored before it, wherever both are.
DEVICE void fence() { __threadfence_system(); }
DEVICE void smallest(u64* least, u64 value) { atomicMin(least, value); }

DEVICE u64 now_ns() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}
// A value of which the compiler knows nothing: it makes no loop twice, for each that it may have.
DEVICE u32 unforeseen(u32 value) {
  asm volatile("" : "+r"(value));
  return value;
}
// Between two looks of who waits: where threads share CPUs, the others go on.
DEVICE void breathe() {}

// The threads of a warp are its lanes; a set of them is Lanes. All lanes make these calls together.
constexpr u32 kWarp = 32;
typedef u32 Lanes;
DEVICE Lanes lanes_where(bool here) { return __ballot_sync(~0u, here); }
DEVICE u32 of_lane(u32 value, u32 lane) { return __shfl_sync(~0u, value, lane); }
DEVICE u64 of_lane(u64 value, u32 lane) { return __shfl_sync(~0u, value, lane); }
DEVICE void warp_meets() { __syncwarp(); }
DEVICE u32 count_of(Lanes lanes) { return __popc(lanes); }
DEVICE u32 first_of(Lanes lanes) { return __ffs(lanes) - 1; }
DEVICE u32 leading(Lanes lanes) { return lanes == ~0u ? 32 : __ffs(~lanes) - 1; }
DEVICE u32 count_before(Lanes lanes, u32 lane) { return __popc(lanes & ((1u << lane) - 1)); }

DEVICE void block_meets() { __syncthreads(); }
DEVICE bool any_in_block(bool here) { return __syncthreads_or(here) != 0; }
#endif
)cuda";

}  // namespace nearpeak::cuda
