// SPDX-License-Identifier: Apache-2.0
// What the drivers of NVIDIA and AMD have in common: the same calls under names of their own. The
// folder of each vendor fills in the calls, whose prototypes follow its manual, and does what the
// two do in different ways.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "accel/accelerator.hpp"
#include "accel/gpu/source.hpp"
#include "accel/library.hpp"
#include "accel/visit.hpp"

namespace nearpeak::gpu {

using DeviceNumber = int;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using ReadyGraphHandle = struct ReadyGraphTag*;  // one that can be launched

struct Uuid {
  unsigned char bytes[16];
};
struct MemoryHandle {
  unsigned char bytes[64];
};

// These, and the flags below, are the same numbers in both.
enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kAlreadyMapped = 208,
  kNoDevice = 100,
  kNotReady = 600,
};
constexpr int kComputeProhibited = 2;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kHostRegisterPortable = 1;
constexpr unsigned kHostRegisterMapped = 2;
constexpr unsigned kAttachGlobal = 1;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kIpcLazyPeerAccess = 1;
constexpr int kCaptureThreadLocal = 1;  // what other threads call meanwhile does not matter

// A function of the driver, with the name under which its manual has it. Addresses of device memory
// are pointers here, also where the manual has integers: both are passed alike.
template <class... Parameters>
struct Call {
  const char* name = "";
  int (*function)(Parameters...) = nullptr;

  int operator()(Parameters... parameters) const { return function(parameters...); }
};

// The vendor's numbers for cuDeviceGetAttribute and its like.
struct Attributes {
  int multiprocessors, compute_mode, l2_bytes, pci_domain, pci_bus, pci_device;
};

class Context;

// One vendor's driver, loaded and initialised.
class Driver : public Visited {
 public:
  virtual ~Driver() = default;

  virtual std::string version() const = 0;  // for people
  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  virtual std::string error_text(int result) const = 0;
  // As the vendor's tools show that of the device of this name.
  virtual std::string shown_uuid(const Uuid& uuid, const std::string& /*name*/) const {
    return uuid_text(uuid.bytes);
  }
  // Takes the device for this process.
  virtual std::unique_ptr<Context> take(int index, DeviceNumber number) const = 0;
  // Makes machine code for this device of a source, which uses the functions of the vendor's
  // prelude. Where there is no compiler it, or what is returned, throws
  // BackendUnavailable; that throws AcceleratorError with its log, and is for any one thread.
  using Compile = std::function<std::string(const std::string& source)>;
  virtual Compile load_compiler(const Context& context) const = 0;
  // Of the vendor's allocators of device memory the one of this name; null where there is none.
  virtual std::unique_ptr<Source> source(const std::string&, const Context&) const {
    return nullptr;
  }
  // As Device has it.
  virtual std::unique_ptr<ChunkSharing> chunk_sharing(const Context&) const { return nullptr; }
  // As Accelerator has them.
  virtual std::optional<Located> locate(const void*) const { return std::nullopt; }
  virtual bool reaches(DeviceNumber, DeviceNumber) const { return false; }

  Call<int*> count_devices;
  Call<DeviceNumber*, int> get_device;
  Call<char*, int, DeviceNumber> get_name;
  Call<std::size_t*, DeviceNumber> get_memory_bytes;
  Call<Uuid*, DeviceNumber> get_uuid;
  Call<int*, int, DeviceNumber> get_attribute;
  Attributes attributes{};
  const char* stream_type = "";  // what its manual calls a StreamHandle

  Call<void**, std::size_t> allocate;
  Call<void*> free;
  Call<void**, std::size_t, unsigned> allocate_pinned;
  Call<void*> free_pinned;
  Call<void**, std::size_t, unsigned> allocate_managed;
  Call<void*, std::size_t, unsigned> register_host;
  Call<void*> unregister_host;
  Call<void**, void*, unsigned> find_on_device;
  Call<void**, std::size_t*, void*> find_allocation;
  Call<std::size_t*, std::size_t*> count_free;  // of the device's memory, and all of it
  Call<void*, const void*, std::size_t, StreamHandle> copy;  // between any two kinds of memory

  Call<int*, int*> find_priorities;  // the least and the greatest
  Call<StreamHandle*, unsigned, int> create_stream;
  Call<StreamHandle> destroy_stream;
  Call<StreamHandle> synchronize_stream;
  Call<StreamHandle> query_stream;
  Call<StreamHandle, EventHandle, unsigned> wait_for_event;
  Call<EventHandle*, unsigned> create_event;
  Call<EventHandle> destroy_event;
  Call<EventHandle, StreamHandle> record_event;
  Call<EventHandle> query_event;

  // Null where the driver is too old for graphs.
  Call<StreamHandle, int> begin_capture;
  Call<StreamHandle, GraphHandle*> end_capture;
  Call<ReadyGraphHandle*, GraphHandle, unsigned long long> make_ready;
  Call<ReadyGraphHandle, StreamHandle> launch_graph;
  Call<GraphHandle> destroy_graph;
  Call<ReadyGraphHandle> destroy_ready_graph;

  Call<MemoryHandle*, void*> export_memory;
  Call<void**, MemoryHandle, unsigned> open_memory;
  Call<void*> close_memory;

  Call<ModuleHandle*, const void*> load_module;
  Call<ModuleHandle> unload_module;
  Call<FunctionHandle*, ModuleHandle, const char*> find_function;
  Call<FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
       StreamHandle, void**, void**>
      launch;
};

// Fills in a call, which stays null where the library lacks it.
template <class... Parameters>
void find(const Library& library, Call<Parameters...>& call, const char* symbol) {
  call.name = symbol;
  library.find(call.function, symbol);
}

// Fills in a call. Throws BackendUnavailable where the library lacks it.
template <class... Parameters>
void need(const Library& library, Call<Parameters...>& call, const char* symbol) {
  call.name = symbol;
  if (!library.find(call.function, symbol))
    throw BackendUnavailable("the driver is too old: " + library.name() + " has no " + symbol);
}

}  // namespace nearpeak::gpu
