// SPDX-License-Identifier: Apache-2.0
// Memory that an application has created and mapped itself (cuMemCreate, cuMemMap), by file
// descriptors for other processes. The prototypes follow NVIDIA's "CUDA Driver API" manual.
#pragma once

#include <memory>

#include "accel/cuda/allocators.hpp"
#include "accel/gpu/context.hpp"

namespace nearpeak::cuda {

// What the driver has for it besides AllocatorCalls; a function that it lacks is null.
struct ChunkCalls {
  ChunkCalls() = default;
  explicit ChunkCalls(const Library& library);

  gpu::Call<CreatedMemory*, const void*> retain;
  gpu::Call<void*, CreatedMemory, int, unsigned long long> export_handle;
  gpu::Call<CreatedMemory*, void*, int> import_handle;
};

// Null where the driver cannot. All that is given outlives it.
std::unique_ptr<ChunkSharing> make_chunk_sharing(const AllocatorCalls& memory,
                                                 const ChunkCalls& calls,
                                                 const gpu::Context& context);

}  // namespace nearpeak::cuda
