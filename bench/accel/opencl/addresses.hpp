// SPDX-License-Identifier: Apache-2.0
// What lies behind the addresses that this backend hands out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "accel/accelerator.hpp"
#include "accel/opencl/driver.hpp"

namespace nearpeak::opencl {

class OpenClDevice;

struct Allocation {
  BufferKind kind;
  char* address;
  std::size_t bytes;
  OpenClDevice* owner;
  MemHandle buffer;  // of device and pinned memory
  void* origin;      // what the driver gave: pinned and managed memory is aligned within it
};

// Serves several threads, as an address of one device may be given to another.
class Addresses {
 public:
  void add(const Allocation& allocation);
  // Removes the allocation that begins there.
  std::optional<Allocation> take(const void* address);
  // The allocation that this address lies in; none where it is not this backend's.
  std::optional<Allocation> find(const void* address) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> by_start_;
};

// Addresses for memory that has none of its own in OpenCL. Whoever reads or writes there dies of
// it, as with device memory of other vendors. Page-aligned, never empty. Throws std::bad_alloc.
char* reserve_addresses(std::size_t bytes);
void release_addresses(char* start, std::size_t bytes);

}  // namespace nearpeak::opencl
