// SPDX-License-Identifier: Apache-2.0
// Other ways to allocate memory of a device than the usual one. The prototypes follow NVIDIA's
// "CUDA Driver API" manual.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accel/gpu/context.hpp"

namespace nearpeak::cuda {

// CUmemLocation, CUmemAllocationProp, CUmemAccessDesc and CUmemPoolProps.
struct Location {
  int type;
  int id;
};
struct AllocationProperties {
  int type;
  int handle_types;
  Location location;
  void* for_windows;
  unsigned char flags[8];
};
struct AccessDescription {
  Location location;
  int flags;
};
struct PoolProperties {
  int type;
  int handle_types;
  Location location;
  void* for_windows;
  std::size_t most_bytes;  // 0: as many as the device has
  unsigned char reserved[56];
};
constexpr int kLocationDevice = 1;
constexpr int kFileDescriptor = 1;  // a type of handles
constexpr int kAccessReadWrite = 3;
using PoolHandle = struct PoolTag*;
using CreatedMemory = unsigned long long;

// What the driver has for them; a function that it lacks is null.
struct AllocatorCalls {
  AllocatorCalls() = default;
  explicit AllocatorCalls(const Library& library);

  gpu::Call<void**, std::size_t, gpu::StreamHandle> allocate_async;
  gpu::Call<void*, gpu::StreamHandle> free_async;
  gpu::Call<PoolHandle*, const PoolProperties*> create_pool;
  gpu::Call<PoolHandle> destroy_pool;
  gpu::Call<void**, std::size_t, PoolHandle, gpu::StreamHandle> allocate_from_pool;
  gpu::Call<std::size_t*, const AllocationProperties*, int> get_granularity;
  gpu::Call<CreatedMemory*, std::size_t, const AllocationProperties*, unsigned long long> create;
  gpu::Call<CreatedMemory> release;
  gpu::Call<void**, std::size_t, std::size_t, void*, unsigned long long> reserve;
  gpu::Call<void*, std::size_t> free_addresses;
  gpu::Call<void*, std::size_t, std::size_t, CreatedMemory, unsigned long long> map;
  gpu::Call<void*, std::size_t> unmap;
  gpu::Call<void*, std::size_t, const AccessDescription*, std::size_t> set_access;
  gpu::Call<void**, std::size_t*, gpu::ModuleHandle, const char*> find_variable;
};

std::vector<AllocatorInfo> allocator_infos();

// Null where none of those of device memory has this name. All that is given outlives it.
std::unique_ptr<gpu::Source> make_source(const std::string& name, const gpu::Driver& driver,
                                         const AllocatorCalls& calls, const gpu::Context& context);

}  // namespace nearpeak::cuda
