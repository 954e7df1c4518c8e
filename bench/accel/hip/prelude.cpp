// SPDX-License-Identifier: Apache-2.0
#include "accel/hip/prelude.hpp"

namespace nearpeak::hip {

// Volatile accesses go past the caches and one after the other ("User Guide for AMDGPU Backend" of
// LLVM, memory model). A Quad is not promised to be in one piece, so it is two halves in the order
// in which CPUs write them: who sees a new second half sees the first. wall_clock64() is spelt out,
// as ROCm 5.2 lacks it.
const char* const kPrelude = R"hip(
#ifndef NEARPEAK_PRELUDE
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE __device__ inline
#define KERNEL extern "C" __global__ void
#define WIDE_KERNEL extern "C" __global__ void
#define WAITING_KERNEL extern "C" __global__ void
#define OF_BLOCK(type, name) __shared__ type name

struct alignas(16) Quad {
  u32 x, y, z, w;
};
DEVICE Quad quad(u32 x, u32 y, u32 z, u32 w) { return Quad{x, y, z, w}; }
DEVICE u8 look(const u8* at) { return *(const volatile u8*)at; }
DEVICE u32 look(const u32* at) { return *(const volatile u32*)at; }
DEVICE u64 look(const u64* at) { return *(const volatile u64*)at; }
DEVICE Quad look(const Quad* at) {
  const u64 high = look((const u64*)at + 1);
  const u64 low = look((const u64*)at);
  return Quad{(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)};
}
DEVICE void put(u32* at, u32 value) { *(volatile u32*)at = value; }
DEVICE void put(u64* at, u64 value) { *(volatile u64*)at = value; }
DEVICE void put(Quad* at, Quad value) {
  put((u64*)at, (u64)value.y << 32 | value.x);
  put((u64*)at + 1, (u64)value.w << 32 | value.z);
}
DEVICE void fence() { __threadfence_system(); }
DEVICE void smallest(u64* least, u64 value) { atomicMin(least, value); }

DEVICE u64 ticks() {
#if __has_builtin(__builtin_amdgcn_s_memrealtime) && !defined(__GFX11__) && !defined(__GFX12__)
  return __builtin_amdgcn_s_memrealtime();
#else
  return wall_clock64();
#endif
}
DEVICE u64 now_ns() {
  const u64 now = ticks();
  return now / NEARPEAK_CLOCK_KHZ * 1000000 +
         now % NEARPEAK_CLOCK_KHZ * 1000000 / NEARPEAK_CLOCK_KHZ;
}
DEVICE u32 unforeseen(u32 value) {
  asm volatile("" : "+v"(value));
  return value;
}
DEVICE void breathe() { __builtin_amdgcn_s_sleep(1); }

constexpr u32 kWarp = NEARPEAK_WARP;
typedef u64 Lanes;
constexpr Lanes kAllLanes = ~0ULL >> (64 - kWarp);
DEVICE Lanes lanes_where(bool here) { return __ballot(here); }
DEVICE u32 of_lane(u32 value, u32 lane) { return __shfl(value, (int)lane); }
DEVICE u64 of_lane(u64 value, u32 lane) { return __shfl(value, (int)lane); }
DEVICE void warp_meets() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
DEVICE u32 count_of(Lanes lanes) { return __popcll(lanes); }
DEVICE u32 first_of(Lanes lanes) { return __builtin_ctzll(lanes); }
DEVICE u32 leading(Lanes lanes) { return lanes == kAllLanes ? kWarp : __builtin_ctzll(~lanes); }
DEVICE u32 count_before(Lanes lanes, u32 lane) { return __popcll(lanes & ((1ULL << lane) - 1)); }

DEVICE void block_meets() { __syncthreads(); }
DEVICE bool any_in_block(bool here) { return __syncthreads_or(here) != 0; }
#endif
)hip";

}  // namespace nearpeak::hip
