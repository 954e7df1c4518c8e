// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/driver.hpp"

#include <cstdlib>

#include "accel/cuda/allocators.hpp"
#include "accel/cuda/chunks.hpp"
#include "accel/cuda/nvrtc.hpp"
#include "accel/cuda/prelude.hpp"
#include "accel/gpu/context.hpp"
#include "accel/gpu/gpu.hpp"
#include "accel/gpu/kept_code.hpp"
#include "accel/library.hpp"

namespace nearpeak::cuda {
namespace {

using gpu::Call;
using gpu::DeviceNumber;
using gpu::kNoDevice;
using gpu::kSuccess;
using ContextHandle = struct ContextTag*;

constexpr int kOldestVersion = 11000;
// cuda.h: CUDA_ERROR_MPS_CONNECTION_FAILED to CUDA_ERROR_MPS_CLIENT_TERMINATED.
constexpr int kFirstMpsError = 805;
constexpr int kLastMpsError = 810;
constexpr int kContextDestroyed = 709;
// Attributes of a device.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
// CUpointer_attribute and CUmemorytype.
constexpr int kContext = 1;
constexpr int kMemoryType = 2;
constexpr int kBufferId = 7;
constexpr int kIsManaged = 8;
constexpr int kDeviceOrdinal = 9;
constexpr int kIpcCapable = 10;
constexpr int kRangeStart = 11;
constexpr int kRangeBytes = 12;
constexpr int kHandleTypes = 14;
constexpr int kMappedBytes = 18;
constexpr int kMappedStart = 19;
constexpr unsigned kTypeOfHostMemory = 1;
constexpr int kCaptureRelaxed = 2;  // of CUstreamCaptureMode

// Where a process sees no device, what hides them is outside of the driver.
std::string hint(int result) {
  if (result >= kFirstMpsError && result <= kLastMpsError)
    return "; a daemon of MPS is there that this process cannot use, as another user's: have it "
           "ended, or set CUDA_MPS_PIPE_DIRECTORY to an empty folder";
  if (result != kNoDevice) return "";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) return std::string("; CUDA_VISIBLE_DEVICES is '") + visible + "'";
  return "; were this process's GPUs withheld by a job, container or cgroup?";
}

class CudaDriver final : public gpu::Driver {
 public:
  CudaDriver();

  std::string version() const override { return "driver for CUDA " + version_text(version_); }
  std::string error_text(int result) const override;
  // CUDA names an instance of a GPU in MIG mode `NVIDIA A100-PCIE-40GB MIG 1g.5gb`.
  std::string shown_uuid(const gpu::Uuid& uuid, const std::string& name) const override {
    const std::string text = uuid_text(uuid.bytes);
    return name.find(" MIG ") == std::string::npos ? text : "MIG" + text.substr(text.find('-'));
  }
  std::unique_ptr<gpu::Context> take(int index, DeviceNumber number) const override;
  Compile load_compiler(const gpu::Context& context) const override;
  std::unique_ptr<gpu::Source> source(const std::string& allocator,
                                      const gpu::Context& context) const override {
    return make_source(allocator, *this, allocator_calls_, context);
  }
  std::unique_ptr<ChunkSharing> chunk_sharing(const gpu::Context& context) const override {
    return make_chunk_sharing(allocator_calls_, chunk_calls_, context);
  }
  void enter(Habits& habits) const noexcept override {
    habits.known = get_current_(&habits.context) == kSuccess;
    habits.capture = kCaptureRelaxed;
    exchange_capture_mode_(&habits.capture);
  }
  void leave(Habits& habits) const noexcept override {
    exchange_capture_mode_(&habits.capture);
    if (habits.known) set_current_(static_cast<ContextHandle>(habits.context));
  }
  std::optional<Located> locate(const void* address) const override;
  bool reaches(DeviceNumber from, DeviceNumber to) const override {
    int reached = 0;
    return can_access_peer_(&reached, from, to) == kSuccess && reached != 0;
  }

 private:
  friend class PrimaryContext;

  void locate_chunk(Located& found, const void* address) const;

  int version_ = 0;  // the CUDA version that the driver offers, 1000 * major + 10 * minor
  Call<int, const char**> get_error_name_;
  Call<int, const char**> get_error_string_;
  Call<ContextHandle*, DeviceNumber> retain_;
  Call<void**> get_current_;
  Call<ContextHandle> set_current_;
  Call<int*> exchange_capture_mode_;
  Call<ContextHandle, unsigned long long*> get_id_;  // null: the driver is older than CUDA 12
  Call<void*, int, const void*> get_pointer_attribute_;
  Call<int*, DeviceNumber, DeviceNumber> can_access_peer_;
  AllocatorCalls allocator_calls_;
  ChunkCalls chunk_calls_;
};

// The primary context, which the CUDA runtime and so the MPI libraries use too. It is never given
// back, as the runtime does not: what else in the process uses it may need it until the end.
class PrimaryContext final : public gpu::Context {
 public:
  PrimaryContext(const CudaDriver& driver, int index, DeviceNumber number)
      : Context(driver, index, number, driver.set_current_.name), driver_(driver) {
    check(driver_.retain_(&handle_, number), driver_.retain_.name);
    if (driver_.get_id_.function != nullptr) driver_.get_id_(handle_, &id_);
  }

  void* handle() const override { return handle_; }
  // The handle stays the same; the number does not.
  bool was_reset() const override {
    if (id_ == 0) return false;  // the driver does not number contexts
    unsigned long long id = 0;
    const int result = driver_.get_id_(handle_, &id);
    return result == kContextDestroyed || (result == kSuccess && id != id_);
  }

 private:
  int make_current() const noexcept override { return driver_.set_current_(handle_); }

  const CudaDriver& driver_;
  ContextHandle handle_ = nullptr;
  unsigned long long id_ = 0;
};

// Names with _v2 replaced, under the same name in the manual, an older function of another
// signature or meaning.
CudaDriver::CudaDriver() {
  const Library library("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
  Call<int*> get_version;
  need(library, get_version, "cuDriverGetVersion");
  if (get_version(&version_) != kSuccess)
    throw BackendUnavailable("cuDriverGetVersion of " + library.name() + " failed");
  if (version_ < kOldestVersion)
    throw BackendUnavailable("the driver is too old: it offers CUDA " + version_text(version_) +
                             ", " + version_text(kOldestVersion) + " or newer is needed");
  Call<unsigned> init;
  need(library, init, "cuInit");
  need(library, get_error_name_, "cuGetErrorName");
  need(library, get_error_string_, "cuGetErrorString");
  need(library, retain_, "cuDevicePrimaryCtxRetain");
  need(library, get_current_, "cuCtxGetCurrent");
  need(library, set_current_, "cuCtxSetCurrent");
  library.find(get_id_.function, "cuCtxGetId");
  need(library, exchange_capture_mode_, "cuThreadExchangeStreamCaptureMode");

  need(library, count_devices, "cuDeviceGetCount");
  need(library, get_device, "cuDeviceGet");
  need(library, get_name, "cuDeviceGetName");
  need(library, get_memory_bytes, "cuDeviceTotalMem_v2");
  // The second version tells the parts of a divided GPU apart; drivers before 11.4 have the first.
  if (!library.find(get_uuid.function, "cuDeviceGetUuid_v2"))
    need(library, get_uuid, "cuDeviceGetUuid");
  get_uuid.name = "cuDeviceGetUuid";
  need(library, get_attribute, "cuDeviceGetAttribute");
  stream_type = "cudaStream_t";
  attributes = {.multiprocessors = 16,
                .compute_mode = 20,
                .l2_bytes = 38,
                .pci_domain = 50,
                .pci_bus = 33,
                .pci_device = 34};

  need(library, allocate, "cuMemAlloc_v2");
  need(library, free, "cuMemFree_v2");
  need(library, allocate_pinned, "cuMemHostAlloc");
  need(library, free_pinned, "cuMemFreeHost");
  need(library, allocate_managed, "cuMemAllocManaged");
  need(library, register_host, "cuMemHostRegister_v2");
  need(library, unregister_host, "cuMemHostUnregister");
  need(library, find_on_device, "cuMemHostGetDevicePointer_v2");
  need(library, find_allocation, "cuMemGetAddressRange_v2");
  need(library, count_free, "cuMemGetInfo_v2");
  allocator_calls_ = AllocatorCalls(library);
  chunk_calls_ = ChunkCalls(library);
  need(library, copy, "cuMemcpyAsync");

  need(library, find_priorities, "cuCtxGetStreamPriorityRange");
  need(library, create_stream, "cuStreamCreateWithPriority");
  need(library, destroy_stream, "cuStreamDestroy_v2");
  need(library, synchronize_stream, "cuStreamSynchronize");
  need(library, query_stream, "cuStreamQuery");
  need(library, wait_for_event, "cuStreamWaitEvent");
  need(library, create_event, "cuEventCreate");
  need(library, destroy_event, "cuEventDestroy_v2");
  need(library, record_event, "cuEventRecord");
  need(library, query_event, "cuEventQuery");

  find(library, begin_capture, "cuStreamBeginCapture_v2");
  find(library, end_capture, "cuStreamEndCapture");
  find(library, make_ready, "cuGraphInstantiateWithFlags");
  find(library, launch_graph, "cuGraphLaunch");
  find(library, destroy_graph, "cuGraphDestroy");
  find(library, destroy_ready_graph, "cuGraphExecDestroy");

  need(library, export_memory, "cuIpcGetMemHandle");
  need(library, open_memory, "cuIpcOpenMemHandle_v2");
  need(library, close_memory, "cuIpcCloseMemHandle");

  need(library, load_module, "cuModuleLoadData");
  need(library, unload_module, "cuModuleUnload");
  need(library, find_function, "cuModuleGetFunction");
  need(library, launch, "cuLaunchKernel");
  need(library, get_pointer_attribute_, "cuPointerGetAttribute");
  need(library, can_access_peer_, "cuDeviceCanAccessPeer");
  if (const int result = init(0); result != kSuccess)
    throw BackendUnavailable("cuInit: " + error_text(result) + hint(result));
}

std::string CudaDriver::error_text(int result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name_(result, &name) != kSuccess || name == nullptr)
    return "error " + std::to_string(result);
  if (get_error_string_(result, &text) != kSuccess || text == nullptr) return name;
  return std::string(name) + ": " + text;
}

// Each answer is as wide as the manual says, or zero where the driver does not know the question.
std::optional<Located> CudaDriver::locate(const void* address) const {
  unsigned type = 0, managed = 0, shareable = 0;
  if (get_pointer_attribute_(&type, kMemoryType, address) != kSuccess) return std::nullopt;
  Located found;
  get_pointer_attribute_(&managed, kIsManaged, address);
  get_pointer_attribute_(&found.context, kContext, address);
  get_pointer_attribute_(&found.device, kDeviceOrdinal, address);
  get_pointer_attribute_(&found.allocation, kBufferId, address);
  get_pointer_attribute_(&found.base, kRangeStart, address);
  get_pointer_attribute_(&found.bytes, kRangeBytes, address);
  get_pointer_attribute_(&shareable, kIpcCapable, address);
  found.kind = managed != 0                ? BufferKind::kManaged
               : type == kTypeOfHostMemory ? BufferKind::kPinned
                                           : BufferKind::kDevice;
  found.shareable = shareable != 0;
  if (found.kind == BufferKind::kDevice && !found.shareable) locate_chunk(found, address);
  return found;
}

// The range of memory that was mapped by hand is all that was reserved for it, mapped or not. That
// of a pool is within what the pool has mapped.
void CudaDriver::locate_chunk(Located& found, const void* address) const {
  void* start = nullptr;
  std::size_t bytes = 0;
  unsigned long long handle_types = 0;
  get_pointer_attribute_(&start, kMappedStart, address);
  get_pointer_attribute_(&bytes, kMappedBytes, address);
  get_pointer_attribute_(&handle_types, kHandleTypes, address);
  if (bytes == 0 || bytes > found.bytes) return;  // 0: the driver does not know the question
  found.base = start;
  found.bytes = bytes;
  found.is_chunk = (handle_types & kFileDescriptor) != 0;
}

std::unique_ptr<gpu::Context> CudaDriver::take(int index, DeviceNumber number) const {
  return std::make_unique<PrimaryContext>(*this, index, number);
}

gpu::Driver::Compile CudaDriver::load_compiler(const gpu::Context& context) const {
  const int major = context.attribute(kCapabilityMajor);
  const int minor = context.attribute(kCapabilityMinor);
  // A driver may not take what was made for a newer one. The version of NVRTC is not known until it
  // is loaded, which takes long; nor does it change what kernels do.
  const char* const named = std::getenv("NEARPEAK_NVRTC_LIBRARY");
  std::string key = "CUDA " + std::to_string(version_);
  for (const std::string& option : Nvrtc::options(major, minor)) key += " " + option;
  key += std::string(" ") + (named == nullptr ? "" : named) + "\n";
  return [nvrtc = std::shared_ptr<const Nvrtc>(), key, major,
          minor](const std::string& source) mutable {
    const std::string whole = kPrelude + source;
    return gpu::kept_code(key + whole, [&] {
      if (!nvrtc) nvrtc = std::make_shared<const Nvrtc>();
      return nvrtc->compile(whole, major, minor);
    });
  };
}

const RegisterBackend entry({"cuda", [] { return gpu::new_accelerator(load_driver()); },
                             allocator_infos()});

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::unique_ptr<const gpu::Driver> load_driver() { return std::make_unique<CudaDriver>(); }

}  // namespace nearpeak::cuda
