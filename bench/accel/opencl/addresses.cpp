// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/addresses.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace nearpeak::opencl {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void Addresses::add(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  by_start_.emplace(number(allocation.address), allocation);
}

std::optional<Allocation> Addresses::take(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = by_start_.find(number(address));
  if (found == by_start_.end()) return std::nullopt;
  const Allocation allocation = found->second;
  by_start_.erase(found);
  return allocation;
}

std::optional<Allocation> Addresses::find(const void* address) const {
  const std::lock_guard lock(mutex_);
  auto after = by_start_.upper_bound(number(address));
  if (after == by_start_.begin()) return std::nullopt;
  const Allocation& allocation = (--after)->second;
  const std::size_t offset = number(address) - after->first;
  if (offset >= std::max<std::size_t>(allocation.bytes, 1)) return std::nullopt;
  return allocation;
}

char* reserve_addresses(std::size_t bytes) {
  void* const start = mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(start);
}

void release_addresses(char* start, std::size_t bytes) {
  munmap(start, std::max<std::size_t>(bytes, 1));
}

}  // namespace nearpeak::opencl
