// SPDX-License-Identifier: Apache-2.0
// Host pageable memory. It is placed on the NUMA node of the CPU that first writes it.
#include <cstdlib>
#include <new>

#include "accel/memory.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kPage = 4096;

class HostMemory final : public HostReachable {
 public:
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (posix_memalign(&memory, kPage, bytes) != 0) throw std::bad_alloc();
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
};

}  // namespace

Memory& host_memory() {
  static HostMemory memory;
  return memory;
}

}  // namespace nearpeak
