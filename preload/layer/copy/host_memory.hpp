// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace nearpeak::layer {

// Host memory that is not written before it is used: its pages are taken where data comes.
struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using HostMemory = std::unique_ptr<char, Free>;

// Throws std::bad_alloc.
inline HostMemory host_memory_of(std::size_t bytes) {
  HostMemory memory(static_cast<char*>(std::malloc(std::max<std::size_t>(bytes, 1))));
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace nearpeak::layer
