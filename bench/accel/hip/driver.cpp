// SPDX-License-Identifier: Apache-2.0
// The HIP backend: AMD's run time, loaded when the program runs. The prototypes and numbers follow
// AMD's "HIP Runtime API" manual; those of ROCm 5.2 to 7 are the same but where it is said.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "accel/gpu/compiler.hpp"
#include "accel/gpu/context.hpp"
#include "accel/gpu/gpu.hpp"
#include "accel/gpu/pool.hpp"
#include "accel/hip/prelude.hpp"
#include "accel/library.hpp"

namespace nearpeak::hip {
namespace {

using gpu::Call;
using gpu::DeviceNumber;
using gpu::kNoDevice;
using gpu::kSuccess;

constexpr int kOldestVersion = 50200000;  // 10000000 * major + 100000 * minor + patch
constexpr int kCopyDefault = 4;           // hipMemcpyDefault: the addresses say from where to where
// Attributes of a device.
constexpr int kWarpSize = 87;
constexpr int kWallClockRate = 10017;  // since ROCm 5.3
constexpr int kUsualClockKhz = 100000;
constexpr int kCaptureRelaxed = 2;  // hipStreamCaptureModeRelaxed

std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100);
}

// The one that is there already, as an MPI library's, before any other: two do not get on.
std::vector<std::string> runtime_names() {
  std::vector<std::string> names{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                 "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"};
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) {
    void* const loaded = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (loaded != nullptr) dlclose(loaded);
    return loaded != nullptr;
  });
  return names;
}

// The compiler that belongs to the run time; ROCm 5 has it in there too.
std::vector<std::string> compiler_names(int version) {
  const std::string major = "." + std::to_string(version / 10000000);
  return {"libhiprtc.so" + major, "libhiprtc.so", "/opt/rocm/lib/libhiprtc.so",
          "libamdhip64.so" + major};
}

std::string hint(int result) {
  constexpr int kInvalidDevice = 101;  // what ROCm 5.2 says where there is none
  if (result != kNoDevice && result != kInvalidDevice) return "";
  for (const char* name : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const char* visible = std::getenv(name))
      return std::string("; ") + name + " is '" + visible + "'";
  return "; may this user open /dev/kfd and /dev/dri/renderD* (groups render and video)?";
}

// Calls that have other parameters than CUDA's. A process has one run time.
int (*memcpy_async)(void*, const void*, std::size_t, int, gpu::StreamHandle) = nullptr;
int (*open_mem_handle)(void**, gpu::MemoryHandle, unsigned) = nullptr;

int copy_any(void* to, const void* from, std::size_t bytes, gpu::StreamHandle stream) {
  return memcpy_async(to, from, bytes, kCopyDefault, stream);
}

// hipIpcMemLazyEnablePeerAccess became 1 after ROCm 5.2, where it is 0 and nothing else is taken.
int open_either(void** memory, gpu::MemoryHandle handle, unsigned flags) {
  const int result = open_mem_handle(memory, handle, flags);
  return result == gpu::kInvalidValue ? open_mem_handle(memory, handle, 0) : result;
}

class HipDriver final : public gpu::Driver {
 public:
  HipDriver();

  std::string version() const override {
    return "HIP " + version_text(version_) + "; this backend has not been run on a real device yet";
  }
  std::string error_text(int result) const override;
  std::string shown_uuid(const gpu::Uuid& uuid, const std::string& name) const override;
  std::unique_ptr<gpu::Context> take(int index, DeviceNumber number) const override;
  Compile load_compiler(const gpu::Context& context) const override;
  void enter(Habits& habits) const noexcept override {
    habits.known = get_device_(&habits.device) == kSuccess;
    habits.capture = kCaptureRelaxed;
    exchange_capture_mode(habits);
  }
  void leave(Habits& habits) const noexcept override {
    exchange_capture_mode(habits);
    if (habits.known) set_device_(habits.device);
  }

 private:
  friend class CurrentDevice;

  std::string architecture(int index) const;
  void exchange_capture_mode(Habits& habits) const {
    if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&habits.capture);
  }

  int version_ = 0;
  const char* (*get_error_name_)(int) = nullptr;
  const char* (*get_error_string_)(int) = nullptr;
  Call<int*> get_device_;
  Call<int> set_device_;
  int (*exchange_capture_mode_)(int* mode) = nullptr;
  Call<void*, int> get_properties_;
  std::size_t architecture_at_ = 0;  // in the properties
};

class CurrentDevice final : public gpu::Context {
 public:
  CurrentDevice(const HipDriver& driver, int index, DeviceNumber number)
      : Context(driver, index, number, driver.set_device_.name), driver_(driver) {
    use();
  }

 private:
  int make_current() const noexcept override { return driver_.set_device_(index()); }

  const HipDriver& driver_;
};

HipDriver::HipDriver() {
  const Library library("NEARPEAK_HIP_LIBRARY", runtime_names());
  Call<int*> get_version;
  need(library, get_version, "hipRuntimeGetVersion");
  Call<unsigned> init;
  need(library, init, "hipInit");
  if (!library.find(get_error_name_, "hipGetErrorName") ||
      !library.find(get_error_string_, "hipGetErrorString"))
    throw BackendUnavailable(library.name() + " has no hipGetErrorName");
  if (const int result = init(0); result != kSuccess)
    throw BackendUnavailable("hipInit: " + error_text(result) + hint(result));
  if (get_version(&version_) != kSuccess)
    throw BackendUnavailable("hipRuntimeGetVersion of " + library.name() + " failed");
  if (version_ < kOldestVersion)
    throw BackendUnavailable("the run time is too old: it is HIP " + version_text(version_) + ", " +
                             version_text(kOldestVersion) + " or newer is needed");
  need(library, get_device_, "hipGetDevice");
  need(library, set_device_, "hipSetDevice");
  library.find(exchange_capture_mode_, "hipThreadExchangeStreamCaptureMode");
  // Where hipDeviceProp_t has gcnArchName, which is a struct of another name since ROCm 6.
  architecture_at_ = 1160;
  if (!library.find(get_properties_.function, "hipGetDevicePropertiesR0600")) {
    need(library, get_properties_, "hipGetDeviceProperties");
    architecture_at_ = 396;
  }
  get_properties_.name = "hipGetDeviceProperties";

  need(library, count_devices, "hipGetDeviceCount");
  need(library, get_device, "hipDeviceGet");
  need(library, get_name, "hipDeviceGetName");
  need(library, get_memory_bytes, "hipDeviceTotalMem");
  need(library, get_uuid, "hipDeviceGetUuid");
  need(library, get_attribute, "hipDeviceGetAttribute");
  stream_type = "hipStream_t";
  attributes = {.multiprocessors = 63,
                .compute_mode = 6,
                .l2_bytes = 19,
                .pci_domain = 69,
                .pci_bus = 67,
                .pci_device = 68};

  need(library, allocate, "hipMalloc");
  need(library, free, "hipFree");
  need(library, allocate_pinned, "hipHostMalloc");
  need(library, free_pinned, "hipHostFree");
  need(library, allocate_managed, "hipMallocManaged");
  need(library, register_host, "hipHostRegister");
  need(library, unregister_host, "hipHostUnregister");
  need(library, find_on_device, "hipHostGetDevicePointer");
  need(library, find_allocation, "hipMemGetAddressRange");
  need(library, count_free, "hipMemGetInfo");
  need(library, copy, "hipMemcpyAsync");
  library.find(memcpy_async, copy.name);
  copy.function = copy_any;

  need(library, find_priorities, "hipDeviceGetStreamPriorityRange");
  need(library, create_stream, "hipStreamCreateWithPriority");
  need(library, destroy_stream, "hipStreamDestroy");
  need(library, synchronize_stream, "hipStreamSynchronize");
  need(library, query_stream, "hipStreamQuery");
  need(library, wait_for_event, "hipStreamWaitEvent");
  need(library, create_event, "hipEventCreateWithFlags");
  need(library, destroy_event, "hipEventDestroy");
  need(library, record_event, "hipEventRecord");
  need(library, query_event, "hipEventQuery");

  find(library, begin_capture, "hipStreamBeginCapture");
  find(library, end_capture, "hipStreamEndCapture");
  find(library, make_ready, "hipGraphInstantiateWithFlags");
  find(library, launch_graph, "hipGraphLaunch");
  find(library, destroy_graph, "hipGraphDestroy");
  find(library, destroy_ready_graph, "hipGraphExecDestroy");

  need(library, export_memory, "hipIpcGetMemHandle");
  need(library, open_memory, "hipIpcOpenMemHandle");
  library.find(open_mem_handle, open_memory.name);
  open_memory.function = open_either;
  need(library, close_memory, "hipIpcCloseMemHandle");

  need(library, load_module, "hipModuleLoadData");
  need(library, unload_module, "hipModuleUnload");
  need(library, find_function, "hipModuleGetFunction");
  need(library, launch, "hipModuleLaunchKernel");
}

std::string HipDriver::error_text(int result) const {
  const char* const name = get_error_name_(result);
  const char* const text = get_error_string_(result);
  if (name == nullptr) return "error " + std::to_string(result);
  // ROCm 5 has the name for both.
  if (text == nullptr || std::strcmp(name, text) == 0) return name;
  return std::string(name) + ": " + text;
}

// Of a GPU that has a serial number these are its 16 hexadecimal digits, as rocminfo shows them.
std::string HipDriver::shown_uuid(const gpu::Uuid& uuid, const std::string&) const {
  const bool digits = std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes),
                                  [](unsigned char each) { return std::isxdigit(each) != 0; });
  if (!digits) return uuid_text(uuid.bytes);
  return "GPU-" + std::string(std::begin(uuid.bytes), std::end(uuid.bytes));
}

std::unique_ptr<gpu::Context> HipDriver::take(int index, DeviceNumber number) const {
  return std::make_unique<CurrentDevice>(*this, index, number);
}

// "gfx90a:sramecc+:xnack-"
std::string HipDriver::architecture(int index) const {
  std::vector<char> properties(16384);
  if (const int result = get_properties_(properties.data(), index); result != kSuccess)
    throw AcceleratorError("hipGetDeviceProperties on GPU " + std::to_string(index) + ": " +
                           error_text(result));
  const char* const name = properties.data() + architecture_at_;
  if (std::strncmp(name, "gfx", 3) != 0)
    throw AcceleratorError("hipGetDeviceProperties does not tell the architecture of GPU " +
                           std::to_string(index));
  return name;
}

gpu::Driver::Compile HipDriver::load_compiler(const gpu::Context& context) const {
  const Library library("NEARPEAK_HIPRTC_LIBRARY", compiler_names(version_));
  const std::string target = architecture(context.index());
  int khz = 0;
  if (get_attribute(&khz, kWallClockRate, context.number()) != kSuccess || khz <= 0)
    khz = kUsualClockKhz;
  const std::vector<std::string> options{
      "--gpu-architecture=" + target, "-std=c++17",
      "-DNEARPEAK_WARP=" + std::to_string(context.attribute(kWarpSize)),
      "-DNEARPEAK_CLOCK_KHZ=" + std::to_string(khz)};
  return [hiprtc = gpu::Compiler(library, "hiprtc", "Code"), target,
          options](const std::string& source) {
    return hiprtc.compile(kPrelude + source, target, options);
  };
}

const RegisterBackend entry({"hip",
                             [] { return gpu::new_accelerator(std::make_unique<HipDriver>()); },
                             gpu::pool_infos()});

}  // namespace
}  // namespace nearpeak::hip
