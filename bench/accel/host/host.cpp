// SPDX-License-Identifier: Apache-2.0
// Host pageable memory. It is placed on the NUMA node of the CPU that first writes it.
#include <cstdlib>
#include <cstring>
#include <new>

#include "accel/memory.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kAlignment = 4096;

class PlainMemory final : public HostReachable {
 public:
  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, bytes) != 0) throw std::bad_alloc();
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
};

}  // namespace

void HostReachable::to_host(void* host, const void* from, std::size_t bytes) {
  std::memcpy(host, from, bytes);
}

void HostReachable::from_host(void* to, const void* host, std::size_t bytes) {
  std::memcpy(to, host, bytes);
}

Memory& host_memory() {
  static PlainMemory memory;
  return memory;
}

}  // namespace nearpeak
