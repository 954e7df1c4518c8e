// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that is used here, loaded from the driver's library when the
// program runs. The prototypes follow NVIDIA's "CUDA Driver API" manual.
#pragma once

#include <cstddef>
#include <string>

namespace nearpeak::cuda {

using DevicePointer = unsigned long long;
using DeviceNumber = int;
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;

struct Uuid {
  unsigned char bytes[16];
};
struct MemoryHandle {
  unsigned char bytes[64];
};

enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kNotReady = 600,
};

enum DeviceAttribute {
  kMultiprocessors = 16,
  kComputeMode = 20,
  kPciBus = 33,
  kPciDevice = 34,
  kL2Bytes = 38,
  kPciDomain = 50,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
};
constexpr int kComputeProhibited = 2;

constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kHostRegisterPortable = 1;
constexpr unsigned kHostRegisterMapped = 2;
constexpr unsigned kAttachGlobal = 1;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kIpcLazyPeerAccess = 1;

// X(name of the symbol, argument types). Those with _v2 replaced, under the same name in the
// manual, an older function of another signature or meaning.
#define NEARPEAK_CUDA_FUNCTIONS(X)                                                              \
  X(cuInit, unsigned)                                                                           \
  X(cuGetErrorName, int, const char**)                                                          \
  X(cuGetErrorString, int, const char**)                                                        \
  X(cuDeviceGetCount, int*)                                                                     \
  X(cuDeviceGet, DeviceNumber*, int)                                                            \
  X(cuDeviceGetName, char*, int, DeviceNumber)                                                  \
  X(cuDeviceTotalMem_v2, std::size_t*, DeviceNumber)                                            \
  X(cuDeviceGetAttribute, int*, int, DeviceNumber)                                              \
  X(cuDevicePrimaryCtxRetain, ContextHandle*, DeviceNumber)                                     \
  X(cuDevicePrimaryCtxRelease_v2, DeviceNumber)                                                 \
  X(cuCtxSetCurrent, ContextHandle)                                                             \
  X(cuMemAlloc_v2, DevicePointer*, std::size_t)                                                 \
  X(cuMemFree_v2, DevicePointer)                                                                \
  X(cuMemHostAlloc, void**, std::size_t, unsigned)                                              \
  X(cuMemFreeHost, void*)                                                                       \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned)                                         \
  X(cuMemHostUnregister, void*)                                                                 \
  X(cuMemHostGetDevicePointer_v2, DevicePointer*, void*, unsigned)                              \
  X(cuMemAllocManaged, DevicePointer*, std::size_t, unsigned)                                   \
  X(cuMemGetAddressRange_v2, DevicePointer*, std::size_t*, DevicePointer)                       \
  X(cuMemcpyAsync, DevicePointer, DevicePointer, std::size_t, StreamHandle)                     \
  X(cuStreamCreate, StreamHandle*, unsigned)                                                    \
  X(cuStreamDestroy_v2, StreamHandle)                                                           \
  X(cuStreamSynchronize, StreamHandle)                                                          \
  X(cuStreamQuery, StreamHandle)                                                                \
  X(cuEventCreate, EventHandle*, unsigned)                                                      \
  X(cuEventDestroy_v2, EventHandle)                                                             \
  X(cuEventRecord, EventHandle, StreamHandle)                                                   \
  X(cuEventQuery, EventHandle)                                                                  \
  X(cuIpcGetMemHandle, MemoryHandle*, DevicePointer)                                            \
  X(cuIpcOpenMemHandle_v2, DevicePointer*, MemoryHandle, unsigned)                              \
  X(cuIpcCloseMemHandle, DevicePointer)                                                         \
  X(cuModuleLoadData, ModuleHandle*, const void*)                                               \
  X(cuModuleUnload, ModuleHandle)                                                               \
  X(cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char*)                            \
  X(cuLaunchKernel, FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    unsigned, StreamHandle, void**, void**)

struct Driver {
#define NEARPEAK_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  NEARPEAK_CUDA_FUNCTIONS(NEARPEAK_MEMBER)
#undef NEARPEAK_MEMBER
  // The second version tells the parts of a divided GPU apart; drivers before 11.4 have the first.
  int (*cuDeviceGetUuid)(Uuid*, DeviceNumber) = nullptr;
  int version = 0;  // the CUDA version that the driver offers, 1000 * major + 10 * minor

  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  std::string error_text(int result) const;
};

// "13.0" for 13000.
std::string version_text(int version);

// Loads the driver and initialises it: libcuda.so.1, or what the environment's
// NEARPEAK_CUDA_LIBRARY names. Throws BackendUnavailable. The library stays loaded.
Driver load_driver();

}  // namespace nearpeak::cuda
