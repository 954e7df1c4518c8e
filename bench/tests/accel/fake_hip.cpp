// SPDX-License-Identifier: Apache-2.0
// HIP's run time and hipRTC without a GPU: the fake CUDA driver and the fake NVRTC under HIP's
// names (fake_cuda.cpp and fake_nvrtc.cpp are part of this library), with their settings. What
// differs from them is here, as ROCm 5.2 has it.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Handle64 {
  unsigned char bytes[64];
};

// X(name in HIP, in CUDA, parameters, arguments)
#define SAME_CALLS(X)                                                                             \
  X(hipInit, cuInit, (unsigned flags), (flags))                                                   \
  X(hipGetDeviceCount, cuDeviceGetCount, (int* count), (count))                                   \
  X(hipDeviceGet, cuDeviceGet, (int* device, int index), (device, index))                         \
  X(hipDeviceTotalMem, cuDeviceTotalMem_v2, (std::size_t* bytes, int device), (bytes, device))    \
  X(hipMalloc, cuMemAlloc_v2, (void** memory, std::size_t bytes), (memory, bytes))                \
  X(hipFree, cuMemFree_v2, (void* memory), (memory))                                              \
  X(hipHostMalloc, cuMemHostAlloc, (void** memory, std::size_t bytes, unsigned flags),            \
    (memory, bytes, flags))                                                                       \
  X(hipHostFree, cuMemFreeHost, (void* memory), (memory))                                         \
  X(hipMallocManaged, cuMemAllocManaged, (void** memory, std::size_t bytes, unsigned flags),      \
    (memory, bytes, flags))                                                                       \
  X(hipHostRegister, cuMemHostRegister_v2, (void* memory, std::size_t bytes, unsigned flags),     \
    (memory, bytes, flags))                                                                       \
  X(hipHostUnregister, cuMemHostUnregister, (void* memory), (memory))                             \
  X(hipHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                        \
    (void** on_device, void* memory, unsigned flags), (on_device, memory, flags))                 \
  X(hipMemGetAddressRange, cuMemGetAddressRange_v2,                                               \
    (void** base, std::size_t* bytes, void* memory), (base, bytes, memory))                       \
  X(hipMemGetInfo, cuMemGetInfo_v2, (std::size_t* free, std::size_t* all), (free, all))           \
  X(hipDeviceGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int* least, int* greatest),    \
    (least, greatest))                                                                            \
  X(hipStreamCreateWithPriority, cuStreamCreateWithPriority,                                      \
    (void** stream, unsigned flags, int priority), (stream, flags, priority))                     \
  X(hipThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int* mode), (mode))   \
  X(hipStreamBeginCapture, cuStreamBeginCapture_v2, (void* stream, int mode), (stream, mode))     \
  X(hipStreamEndCapture, cuStreamEndCapture, (void* stream, void** graph), (stream, graph))       \
  X(hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,                                    \
    (void** ready, void* graph, unsigned long long flags), (ready, graph, flags))                 \
  X(hipGraphLaunch, cuGraphLaunch, (void* graph, void* stream), (graph, stream))                  \
  X(hipGraphDestroy, cuGraphDestroy, (void* graph), (graph))                                      \
  X(hipGraphExecDestroy, cuGraphExecDestroy, (void* graph), (graph))                              \
  X(hipStreamDestroy, cuStreamDestroy_v2, (void* stream), (stream))                               \
  X(hipStreamSynchronize, cuStreamSynchronize, (void* stream), (stream))                          \
  X(hipStreamQuery, cuStreamQuery, (void* stream), (stream))                                      \
  X(hipStreamWaitEvent, cuStreamWaitEvent, (void* stream, void* event, unsigned flags),           \
    (stream, event, flags))                                                                       \
  X(hipEventCreateWithFlags, cuEventCreate, (void** event, unsigned flags), (event, flags))       \
  X(hipEventDestroy, cuEventDestroy_v2, (void* event), (event))                                   \
  X(hipEventRecord, cuEventRecord, (void* event, void* stream), (event, stream))                  \
  X(hipEventQuery, cuEventQuery, (void* event), (event))                                          \
  X(hipIpcGetMemHandle, cuIpcGetMemHandle, (Handle64 * handle, void* memory), (handle, memory))   \
  X(hipIpcCloseMemHandle, cuIpcCloseMemHandle, (void* memory), (memory))                          \
  X(hipModuleLoadData, cuModuleLoadData, (void** module, const void* code), (module, code))       \
  X(hipModuleUnload, cuModuleUnload, (void* module), (module))                                    \
  X(hipModuleGetFunction, cuModuleGetFunction, (void** function, void* module, const char* name), \
    (function, module, name))                                                                     \
  X(hipModuleLaunchKernel, cuLaunchKernel,                                                        \
    (void* function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,  \
     unsigned threads_z, unsigned shared, void* stream, void** arguments, void** extra),          \
    (function, x, y, z, threads_x, threads_y, threads_z, shared, stream, arguments, extra))       \
  X(hiprtcCreateProgram, nvrtcCreateProgram,                                                      \
    (void** program, const char* source, const char* name, int headers, const char* const* texts, \
     const char* const* names),                                                                   \
    (program, source, name, headers, texts, names))                                               \
  X(hiprtcDestroyProgram, nvrtcDestroyProgram, (void** program), (program))                       \
  X(hiprtcCompileProgram, nvrtcCompileProgram,                                                    \
    (void* program, int count, const char* const* options), (program, count, options))            \
  X(hiprtcGetProgramLogSize, nvrtcGetProgramLogSize, (void* program, std::size_t* bytes),         \
    (program, bytes))                                                                             \
  X(hiprtcGetProgramLog, nvrtcGetProgramLog, (void* program, char* log), (program, log))          \
  X(hiprtcGetCodeSize, nvrtcGetCUBINSize, (void* program, std::size_t* bytes), (program, bytes))  \
  X(hiprtcGetCode, nvrtcGetCUBIN, (void* program, char* code), (program, code))

#define FORWARD(hip, cuda, parameters, arguments) \
  extern "C" int cuda parameters;                 \
  EXPORT int hip parameters { return cuda arguments; }
SAME_CALLS(FORWARD)
#undef FORWARD

extern "C" {
int fake_cuda_live();
int cuCtxGetDevice(int* device);
int cuCtxSetCurrent(void* context);
int cuDeviceGetAttribute(int* value, int which, int device);
int cuDeviceGetName(char* name, int length, int device);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuGetErrorString(int error, const char** text);
int cuIpcOpenMemHandle_v2(void** memory, Handle64 handle, unsigned flags);
int cuMemcpyAsync(void* to, const void* from, std::size_t bytes, void* stream);
const char* nvrtcGetErrorString(int error);
}

namespace {

constexpr int kInvalidValue = 1;

// Of the devices that were used: HIP has no call that lets go of one.
std::map<int, void*>& contexts() {
  static std::map<int, void*> all;
  return all;
}

}  // namespace

EXPORT int fake_hip_live() { return fake_cuda_live(); }

EXPORT int hipRuntimeGetVersion(int* version) {
  *version = 50221153;
  return 0;
}

EXPORT const char* hipGetErrorName(int error) {
  static const std::map<int, const char*> names{{1, "hipErrorInvalidValue"},
                                                {2, "hipErrorOutOfMemory"},
                                                {100, "hipErrorNoDevice"},
                                                {200, "hipErrorInvalidImage"},
                                                {400, "hipErrorInvalidHandle"}};
  const auto found = names.find(error);
  return found == names.end() ? "hipErrorUnknown" : found->second;
}

EXPORT const char* hipGetErrorString(int error) {
  const char* text = nullptr;
  cuGetErrorString(error, &text);
  return text;
}

EXPORT int hipSetDevice(int device) {
  auto& all = contexts();
  if (all.count(device) == 0)
    if (const int error = cuDevicePrimaryCtxRetain(&all[device], device); error != 0) {
      all.erase(device);
      return error;
    }
  return cuCtxSetCurrent(all[device]);
}

// The first one, where the thread has chosen none.
EXPORT int hipGetDevice(int* device) {
  if (cuCtxGetDevice(device) != 0) *device = 0;
  return 0;
}

EXPORT int hipDeviceGetName(char* name, int length, int device) {
  const int error = cuDeviceGetName(name, length, device);
  if (error == 0)
    std::snprintf(name, static_cast<std::size_t>(length), "Fake AMD %c", 'A' + device);
  return error;
}

// The digits of the serial number as text; FAKE_PARTITIONS: one for all devices.
EXPORT int hipDeviceGetUuid(unsigned char* uuid, int device) {
  char digits[17];
  const int number = std::getenv("FAKE_PARTITIONS") == nullptr ? device : 0;
  std::snprintf(digits, sizeof(digits), "fa4dc0a2fee6e4b%x", number);
  std::memcpy(uuid, digits, 16);
  return 0;
}

EXPORT int hipGetDeviceProperties(char* properties, int) {
  std::memset(properties, 0xA5, 792);
  std::strcpy(properties + 396, "gfx90a:sramecc+:xnack-");
  return 0;
}

EXPORT int hipDeviceGetAttribute(int* value, int which, int device) {
  static const std::map<int, int> as_in_cuda{{63, 16}, {6, 20},  {19, 38},
                                             {69, 50}, {67, 33}, {68, 34}};
  constexpr int kWarpSize = 87;
  if (which == kWarpSize) {
    *value = 64;
    return 0;
  }
  const auto found = as_in_cuda.find(which);
  return found == as_in_cuda.end() ? kInvalidValue
                                   : cuDeviceGetAttribute(value, found->second, device);
}

EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  constexpr int kDefault = 4;
  return kind == kDefault ? cuMemcpyAsync(to, from, bytes, stream) : kInvalidValue;
}

EXPORT int hipIpcOpenMemHandle(void** memory, Handle64 handle, unsigned flags) {
  return flags == 0 ? cuIpcOpenMemHandle_v2(memory, handle, 1) : kInvalidValue;
}

EXPORT const char* hiprtcGetErrorString(int error) { return nvrtcGetErrorString(error); }
