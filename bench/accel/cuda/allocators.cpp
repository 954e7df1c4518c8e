// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/allocators.hpp"

#include <map>
#include <utility>

#include "accel/gpu/gpu.hpp"
#include "accel/gpu/pool.hpp"

namespace nearpeak::cuda {
namespace {

constexpr const char* kAsync = "async";
constexpr const char* kManagedAsync = "managed-async";
constexpr const char* kVmmChunks = "vmm-chunks";
constexpr const char* kSymbol = "symbol";
constexpr const char* kVariable = "nearpeak_symbol";

constexpr int kAllocationPinned = 1;
constexpr int kAllocationManaged = 2;
constexpr int kGranularityMinimum = 0;

// What all of them have: the calls, on one device.
class CudaSource : public gpu::Source {
 public:
  CudaSource(const gpu::Driver& driver, const AllocatorCalls& calls, const gpu::Context& context)
      : driver_(driver), calls_(calls), context_(context) {}

 protected:
  template <class... Parameters, class... Arguments>
  void invoke(std::size_t bytes, const gpu::Call<Parameters...>& call,
              Arguments... arguments) const {
    if (call.function == nullptr)
      throw AcceleratorError("the " + driver_.version() + " has no " + call.name);
    context_.use();
    context_.check(call(arguments...), call.name, gpu::Bytes{bytes});
  }
  const gpu::Driver& driver() const { return driver_; }
  const AllocatorCalls& calls() const { return calls_; }
  const gpu::Context& context() const { return context_; }

 private:
  const gpu::Driver& driver_;
  const AllocatorCalls& calls_;
  const gpu::Context& context_;
};

// From the device's own pool, in the order of a stream.
class AsyncSource final : public CudaSource {
 public:
  using CudaSource::CudaSource;

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    invoke(bytes, calls().allocate_async, &memory, bytes, nullptr);
    invoke(bytes, driver().synchronize_stream, nullptr);
    return memory;
  }
  void release(void* memory) noexcept override {
    context().use_last();
    calls().free_async(memory, nullptr);
    driver().synchronize_stream(nullptr);
  }
};

// From a pool of managed memory, in the order of a stream. No other process can open it, so that it
// has no handles. The pool prefers the device: memory of one that prefers no place loses data. With
// driver 580 on an H200 the CPU then reads other bytes than a kernel has written
// (benchmarks/recorded/managed-pools-h200.txt).
class ManagedAsyncSource final : public CudaSource {
 public:
  using CudaSource::CudaSource;
  ~ManagedAsyncSource() override {
    if (pool_ == nullptr) return;
    context().use_last();
    calls().destroy_pool(pool_);
  }
  ManagedAsyncSource(const ManagedAsyncSource&) = delete;
  ManagedAsyncSource& operator=(const ManagedAsyncSource&) = delete;

  void* allocate(std::size_t bytes) override {
    if (pool_ == nullptr) make_pool(bytes);
    void* memory = nullptr;
    invoke(bytes, calls().allocate_from_pool, &memory, bytes, pool_, nullptr);
    invoke(bytes, driver().synchronize_stream, nullptr);
    return memory;
  }
  void release(void* memory) noexcept override {
    context().use_last();
    calls().free_async(memory, nullptr);
    driver().synchronize_stream(nullptr);
  }

 private:
  // Drivers before CUDA 13 have pools, but refuse one of this kind.
  void make_pool(std::size_t bytes) {
    try {
      invoke(bytes, calls().create_pool, &pool_, &properties_);
    } catch (const AcceleratorError& error) {
      throw AcceleratorError(std::string(error.what()) +
                             "; pools of managed memory came with CUDA " +
                             "13.0, and this is the " + driver().version());
    }
  }

  const PoolProperties properties_{.type = kAllocationManaged,
                                   .handle_types = 0,
                                   .location = {.type = kLocationDevice, .id = context().number()},
                                   .for_windows = nullptr,
                                   .most_bytes = 0,
                                   .reserved = {}};
  PoolHandle pool_ = nullptr;
};

// Addresses that are reserved, and memory that is created and mapped there: one piece of it, or one
// after the other, as pools that grow do. In chunks, what is returned begins within one, so that
// small messages too lie in two of them.
class MappedSource final : public CudaSource {
 public:
  MappedSource(const gpu::Driver& driver, const AllocatorCalls& calls, const gpu::Context& context,
               bool chunks)
      : CudaSource(driver, calls, context), chunks_(chunks) {}

  void* allocate(std::size_t bytes) override {
    std::size_t unit = 0;
    invoke(bytes, calls().get_granularity, &unit, &properties_, kGranularityMinimum);
    const std::size_t lead = chunks_ ? before(bytes, unit) : 0;
    Mapping made;
    made.bytes = (lead + bytes + unit - 1) / unit * unit;
    void* begin = nullptr;
    invoke(made.bytes, calls().reserve, &begin, made.bytes, unit, nullptr, 0);
    made.begin = static_cast<char*>(begin);
    try {
      while (made.mapped < made.bytes) map(made, chunks_ ? unit : made.bytes);
      const AccessDescription access{.location = location_, .flags = kAccessReadWrite};
      invoke(made.bytes, calls().set_access, begin, made.bytes, &access, 1);
    } catch (...) {
      unmap(made);
      throw;
    }
    void* const memory = made.begin + lead;
    mappings_[memory] = made;
    return memory;
  }
  void release(void* memory) noexcept override {
    const auto found = mappings_.find(memory);
    unmap(found->second);
    mappings_.erase(found);
  }

 private:
  struct Mapping {
    char* begin = nullptr;
    std::size_t bytes = 0;
    std::size_t mapped = 0;
  };

  // Bytes of the first chunk that are left out, so that the next one begins a page behind the
  // middle of what is wanted.
  static std::size_t before(std::size_t bytes, std::size_t unit) {
    constexpr std::size_t kPage = 4096;
    return unit - (bytes / 2 / kPage * kPage + kPage) % unit;
  }

  void map(Mapping& made, std::size_t bytes) const {
    CreatedMemory memory = 0;
    invoke(bytes, calls().create, &memory, bytes, &properties_, 0);
    try {
      invoke(bytes, calls().map, made.begin + made.mapped, bytes, 0, memory, 0);
    } catch (...) {
      calls().release(memory);
      throw;
    }
    calls().release(memory);  // it lasts as long as it is mapped
    made.mapped += bytes;
  }

  void unmap(const Mapping& made) const noexcept {
    context().use_last();
    if (made.mapped != 0) calls().unmap(made.begin, made.mapped);
    calls().free_addresses(made.begin, made.bytes);
  }

  const bool chunks_;
  const Location location_{.type = kLocationDevice, .id = context().number()};
  const AllocationProperties properties_{.type = kAllocationPinned,
                                         .handle_types = kFileDescriptor,
                                         .location = location_,
                                         .for_windows = nullptr,
                                         .flags = {}};
  std::map<void*, Mapping> mappings_;
};

// A variable of a module. Its size is said where it is compiled, so that each has a module of its
// own: in PTX, which every driver compiles.
class SymbolSource final : public CudaSource {
 public:
  using CudaSource::CudaSource;

  void* allocate(std::size_t bytes) override {
    const std::string code =
        ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .align 256 .b8 " +
        (kVariable + ("[" + std::to_string(bytes)) + "];\n");
    gpu::ModuleHandle module = nullptr;
    invoke(bytes, driver().load_module, &module, code.c_str());
    void* memory = nullptr;
    std::size_t whole = 0;
    try {
      invoke(bytes, calls().find_variable, &memory, &whole, module, kVariable);
    } catch (...) {
      driver().unload_module(module);
      throw;
    }
    modules_[memory] = module;
    return memory;
  }
  void release(void* memory) noexcept override {
    const auto found = modules_.find(memory);
    context().use_last().unload_module(found->second);
    modules_.erase(found);
  }

 private:
  std::map<void*, gpu::ModuleHandle> modules_;
};

}  // namespace

AllocatorCalls::AllocatorCalls(const Library& library) {
  find(library, allocate_async, "cuMemAllocAsync");
  find(library, free_async, "cuMemFreeAsync");
  find(library, create_pool, "cuMemPoolCreate");
  find(library, destroy_pool, "cuMemPoolDestroy");
  find(library, allocate_from_pool, "cuMemAllocFromPoolAsync");
  find(library, get_granularity, "cuMemGetAllocationGranularity");
  find(library, create, "cuMemCreate");
  find(library, release, "cuMemRelease");
  find(library, reserve, "cuMemAddressReserve");
  find(library, free_addresses, "cuMemAddressFree");
  find(library, map, "cuMemMap");
  find(library, unmap, "cuMemUnmap");
  find(library, set_access, "cuMemSetAccess");
  find(library, find_variable, "cuModuleGetGlobal_v2");
}

std::vector<AllocatorInfo> allocator_infos() {
  std::vector<AllocatorInfo> all{
      {gpu::kRegistered, BufferKind::kPinned, "pinned where it is: cudaHostRegister"},
      {kAsync, BufferKind::kDevice, "from the device's pool: cudaMallocAsync"},
      {kOneChunk, BufferKind::kDevice, "created and mapped in one piece: cuMemCreate, cuMemMap"},
      {kVmmChunks, BufferKind::kDevice, "the same in several pieces, one after the other"},
      {kSymbol, BufferKind::kDevice, "a __device__ variable of a module"},
      {kManagedAsync, BufferKind::kManaged,
       "from a pool of managed memory: cudaMallocFromPoolAsync"},
  };
  for (AllocatorInfo& info : gpu::pool_infos()) all.push_back(std::move(info));
  return all;
}

std::unique_ptr<gpu::Source> make_source(const std::string& name, const gpu::Driver& driver,
                                         const AllocatorCalls& calls, const gpu::Context& context) {
  if (name == kAsync) return std::make_unique<AsyncSource>(driver, calls, context);
  if (name == kManagedAsync) return std::make_unique<ManagedAsyncSource>(driver, calls, context);
  if (name == kOneChunk) return std::make_unique<MappedSource>(driver, calls, context, false);
  if (name == kVmmChunks) return std::make_unique<MappedSource>(driver, calls, context, true);
  if (name == kSymbol) return std::make_unique<SymbolSource>(driver, calls, context);
  return nullptr;
}

}  // namespace nearpeak::cuda
