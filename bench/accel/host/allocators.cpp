// SPDX-License-Identifier: Apache-2.0
#include "accel/allocators.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <new>

namespace nearpeak {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Mapped from the kernel by itself, and given back to it.
class MappedMemory final : public HostReachable {
 public:
  explicit MappedMemory(bool shared) : shared_(shared) {}

  void* allocate(std::size_t bytes) override {
    const std::size_t mapped = whole(std::max<std::size_t>(bytes, 1), kHugePage) + kHugePage;
    const int flags = MAP_ANONYMOUS | MAP_NORESERVE | (shared_ ? MAP_SHARED : MAP_PRIVATE);
    void* const base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    if (!shared_) madvise(base, mapped, MADV_HUGEPAGE);  // advice, where the kernel has them
    const auto begin = whole(reinterpret_cast<std::size_t>(base), kHugePage);
    mappings_[reinterpret_cast<void*>(begin)] = {base, mapped};
    return reinterpret_cast<void*>(begin);
  }
  void release(void* memory) override {
    const auto found = mappings_.find(memory);
    munmap(found->second.base, found->second.bytes);
    mappings_.erase(found);
  }

 private:
  struct Mapping {
    void* base;
    std::size_t bytes;
  };
  const bool shared_;
  std::map<void*, Mapping> mappings_;
};

const std::vector<AllocatorInfo>& of_host() {
  static const std::vector<AllocatorInfo> all{
      {"huge", BufferKind::kHost, "huge pages, where the kernel has them: mmap, MADV_HUGEPAGE"},
      {"shared", BufferKind::kHost, "a mapping that processes can share: mmap, MAP_SHARED"}};
  return all;
}

Memory& of_host(const std::string& name) {
  static MappedMemory huge(false);
  static MappedMemory shared(true);
  return name == "huge" ? huge : shared;
}

bool is(const AllocatorInfo& info, const std::string& name, BufferKind kind) {
  return info.name == name && info.kind == kind;
}

}  // namespace

std::vector<AllocatorInfo> allocators() {
  std::vector<AllocatorInfo> all = of_host();
  for (const Backend& backend : backends())
    for (const AllocatorInfo& info : backend.allocators)
      if (std::none_of(all.begin(), all.end(),
                       [&](const auto& other) { return is(other, info.name, info.kind); }))
        all.push_back(info);
  return all;
}

bool gives(const std::string& allocator, BufferKind kind) {
  const auto all = allocators();
  return allocator == kPlain || std::any_of(all.begin(), all.end(), [&](const auto& info) {
           return is(info, allocator, kind);
         });
}

Memory& memory_from(const std::string& allocator, BufferKind kind, Device* device) {
  if (allocator == kPlain) return kind == BufferKind::kHost ? host_memory() : device->memory(kind);
  if (kind == BufferKind::kHost) return of_host(allocator);
  Memory* const memory = device->memory_from(allocator);
  if (memory == nullptr)
    throw AcceleratorError(device->info().name + " has no allocator '" + allocator + "'");
  return *memory;
}

}  // namespace nearpeak
