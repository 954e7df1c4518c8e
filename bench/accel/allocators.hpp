// SPDX-License-Identifier: Apache-2.0
// All ways to get memory: the host's own here, those of accelerators by their backends.
#pragma once

#include <string>
#include <vector>

#include "accel/accelerator.hpp"

namespace nearpeak {

// Beside the usual one of every kind: the host's, then those of each backend.
std::vector<AllocatorInfo> allocators();

// Whether an allocator is of a kind; the plain one is of all.
bool gives(const std::string& allocator, BufferKind kind);

// Memory of a kind, from an allocator that gives it. `device`: of this rank, or null. Throws
// AcceleratorError where there is none.
Memory& memory_from(const std::string& allocator, BufferKind kind, Device* device);

}  // namespace nearpeak
