// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/chunks.hpp"

#include <cstdint>

namespace nearpeak::cuda {
namespace {

using gpu::Call;

struct Calls {
  const AllocatorCalls& memory;
  const ChunkCalls& chunks;
  const gpu::Context& context;

  template <class... Parameters, class... Arguments>
  void invoke(const Call<Parameters...>& call, Arguments... arguments) const {
    const OwnWork own;
    context.use();
    context.check(call(arguments...), call.name);
  }
};

// The handle of memory, which has it as long as this is there.
class Handle {
 public:
  explicit Handle(const Calls& calls) : calls_(calls) {}
  ~Handle() {
    if (!made_) return;
    calls_.context.use_last();
    calls_.memory.release(value_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  template <class... Parameters, class... Arguments>
  CreatedMemory make(const Call<CreatedMemory*, Parameters...>& call, Arguments... arguments) {
    calls_.invoke(call, &value_, arguments...);
    made_ = true;
    return value_;
  }

 private:
  const Calls& calls_;
  CreatedMemory value_ = 0;
  bool made_ = false;
};

class MappedChunk final : public OpenedMemory {
 public:
  MappedChunk(const Calls& calls, void* at, int file, std::size_t bytes)
      : calls_(calls), at_(at), bytes_(bytes) {
    Handle handle(calls);  // not needed once it is mapped
    auto* const value = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
    const CreatedMemory memory = handle.make(calls.chunks.import_handle, value, kFileDescriptor);
    calls.invoke(calls.memory.map, at, bytes, std::size_t{0}, memory, 0ULL);
    const AccessDescription access{
        .location = {.type = kLocationDevice, .id = calls.context.number()},
        .flags = kAccessReadWrite};
    try {
      calls.invoke(calls.memory.set_access, at, bytes, &access, std::size_t{1});
    } catch (...) {
      unmap();
      throw;
    }
  }
  ~MappedChunk() override { unmap(); }
  MappedChunk(const MappedChunk&) = delete;
  MappedChunk& operator=(const MappedChunk&) = delete;
  void* data() const override { return at_; }

 private:
  void unmap() const noexcept {
    calls_.context.use_last();
    calls_.memory.unmap(at_, bytes_);
  }

  const Calls& calls_;
  void* at_;
  std::size_t bytes_;
};

class CudaAddresses final : public ReservedAddresses {
 public:
  CudaAddresses(const Calls& calls, std::size_t bytes) : calls_(calls), bytes_(bytes) {
    calls.invoke(calls.memory.reserve, &begin_, bytes, std::size_t{0}, nullptr, 0ULL);
  }
  ~CudaAddresses() override {
    calls_.context.use_last();
    calls_.memory.free_addresses(begin_, bytes_);
  }
  CudaAddresses(const CudaAddresses&) = delete;
  CudaAddresses& operator=(const CudaAddresses&) = delete;
  void* data() const override { return begin_; }
  std::unique_ptr<OpenedMemory> map(std::size_t offset, int file, std::size_t bytes) override {
    return std::make_unique<MappedChunk>(calls_, static_cast<char*>(begin_) + offset, file, bytes);
  }

 private:
  const Calls& calls_;
  void* begin_ = nullptr;
  std::size_t bytes_;
};

class CudaChunkSharing final : public ChunkSharing {
 public:
  explicit CudaChunkSharing(const Calls& calls) : calls_(calls) {}

  int file_of(const void* memory) override {
    Handle handle(calls_);
    int file = -1;
    const CreatedMemory retained = handle.make(calls_.chunks.retain, memory);
    calls_.invoke(calls_.chunks.export_handle, &file, retained, kFileDescriptor, 0ULL);
    return file;
  }
  std::unique_ptr<ReservedAddresses> reserve(std::size_t bytes) override {
    return std::make_unique<CudaAddresses>(calls_, bytes);
  }

 private:
  const Calls calls_;
};

}  // namespace

ChunkCalls::ChunkCalls(const Library& library) {
  find(library, retain, "cuMemRetainAllocationHandle");
  find(library, export_handle, "cuMemExportToShareableHandle");
  find(library, import_handle, "cuMemImportFromShareableHandle");
}

std::unique_ptr<ChunkSharing> make_chunk_sharing(const AllocatorCalls& memory,
                                                 const ChunkCalls& calls,
                                                 const gpu::Context& context) {
  const bool has_all =
      calls.retain.function != nullptr && calls.export_handle.function != nullptr &&
      calls.import_handle.function != nullptr && memory.reserve.function != nullptr &&
      memory.map.function != nullptr && memory.set_access.function != nullptr;
  if (!has_all) return nullptr;
  return std::make_unique<CudaChunkSharing>(Calls{memory, calls, context});
}

}  // namespace nearpeak::cuda
