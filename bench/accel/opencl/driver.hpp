// SPDX-License-Identifier: Apache-2.0
// The part of OpenCL 1.2, and of the shared virtual memory of 2.0, that is used here, loaded from
// the system's loader of OpenCL drivers when the program runs. Prototypes and numbers follow
// Khronos's "OpenCL API Specification".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace nearpeak::opencl {

using PlatformHandle = struct PlatformTag*;
using DeviceHandle = struct DeviceTag*;
using ContextHandle = struct ContextTag*;
using QueueHandle = struct QueueTag*;
using MemHandle = struct MemTag*;
using ProgramHandle = struct ProgramTag*;
using KernelHandle = struct KernelTag*;
using EventHandle = struct EventTag*;
using Bits = std::uint64_t;
using ContextCallback = void (*)(const char*, const void*, std::size_t, void*);
using ProgramCallback = void (*)(ProgramHandle, void*);

enum Result {
  kSuccess = 0,
  kDeviceNotFound = -1,
  kAllocationFailure = -4,
  kOutOfResources = -5,
  kOutOfHostMemory = -6,
  kBuildProgramFailure = -11,
  kInvalidBufferSize = -61,
  kPlatformNotFound = -1001,
};

enum PlatformInfo : unsigned { kPlatformVersion = 0x0901, kPlatformName = 0x0902 };

enum DeviceQuery : unsigned {
  kType = 0x1000,
  kComputeUnits = 0x1002,
  kMaxWorkGroup = 0x1004,
  kBaseAlignmentBits = 0x1019,
  kGlobalCacheBytes = 0x101E,
  kGlobalBytes = 0x101F,
  kAvailable = 0x1027,
  kCompilerAvailable = 0x1028,
  kName = 0x102B,
  kVendor = 0x102C,
  kVersion = 0x102F,
  kExtensions = 0x1030,
  kSvmCapabilities = 0x1053,
  kUuid = 0x106A,     // cl_khr_device_uuid
  kPciInfo = 0x410F,  // cl_khr_pci_bus_info
};

constexpr Bits kTypeCpu = 2;
constexpr Bits kTypeGpu = 4;
constexpr Bits kTypeAccelerator = 8;

constexpr Bits kSvmCoarse = 1;
constexpr Bits kSvmFine = 2;

constexpr Bits kMemReadWrite = 1;
constexpr Bits kMemAllocHost = 16;
constexpr Bits kMemSvmFine = 1024;
constexpr Bits kMapReadWrite = 3;
constexpr unsigned kRegion = 0x1220;
struct Region {
  std::size_t origin;
  std::size_t bytes;
};

enum Query : unsigned {
  kBuildLog = 0x1183,
  kArgumentCount = 0x1191,
  kArgumentSpace = 0x1196,
  kArgumentType = 0x1198,
  kExecutionStatus = 0x11D3,
};
enum ArgumentSpace : unsigned { kGlobal = 0x119B, kConstant = 0x119D };

// Waiting for events, and the event of the command.
#define NEARPEAK_OPENCL_EVENTS unsigned, const EventHandle*, EventHandle*

// X(result, name of the symbol, argument types)
#define NEARPEAK_OPENCL_FUNCTIONS(X)                                                             \
  X(int, clGetPlatformIDs, unsigned, PlatformHandle*, unsigned*)                                 \
  X(int, clGetPlatformInfo, PlatformHandle, unsigned, std::size_t, void*, std::size_t*)          \
  X(int, clGetDeviceIDs, PlatformHandle, Bits, unsigned, DeviceHandle*, unsigned*)               \
  X(int, clGetDeviceInfo, DeviceHandle, unsigned, std::size_t, void*, std::size_t*)              \
  X(ContextHandle, clCreateContext, const std::intptr_t*, unsigned, const DeviceHandle*,         \
    ContextCallback, void*, int*)                                                                \
  X(int, clReleaseContext, ContextHandle)                                                        \
  X(QueueHandle, clCreateCommandQueue, ContextHandle, DeviceHandle, Bits, int*)                  \
  X(int, clReleaseCommandQueue, QueueHandle)                                                     \
  X(int, clFlush, QueueHandle)                                                                   \
  X(int, clFinish, QueueHandle)                                                                  \
  X(MemHandle, clCreateBuffer, ContextHandle, Bits, std::size_t, void*, int*)                    \
  X(MemHandle, clCreateSubBuffer, MemHandle, Bits, unsigned, const void*, int*)                  \
  X(int, clReleaseMemObject, MemHandle)                                                          \
  X(int, clEnqueueReadBuffer, QueueHandle, MemHandle, unsigned, std::size_t, std::size_t, void*, \
    NEARPEAK_OPENCL_EVENTS)                                                                      \
  X(int, clEnqueueWriteBuffer, QueueHandle, MemHandle, unsigned, std::size_t, std::size_t,       \
    const void*, NEARPEAK_OPENCL_EVENTS)                                                         \
  X(int, clEnqueueCopyBuffer, QueueHandle, MemHandle, MemHandle, std::size_t, std::size_t,       \
    std::size_t, NEARPEAK_OPENCL_EVENTS)                                                         \
  X(int, clEnqueueFillBuffer, QueueHandle, MemHandle, const void*, std::size_t, std::size_t,     \
    std::size_t, NEARPEAK_OPENCL_EVENTS)                                                         \
  X(void*, clEnqueueMapBuffer, QueueHandle, MemHandle, unsigned, Bits, std::size_t, std::size_t, \
    NEARPEAK_OPENCL_EVENTS, int*)                                                                \
  X(int, clEnqueueUnmapMemObject, QueueHandle, MemHandle, void*, NEARPEAK_OPENCL_EVENTS)         \
  X(int, clEnqueueMarkerWithWaitList, QueueHandle, NEARPEAK_OPENCL_EVENTS)                       \
  X(int, clEnqueueBarrierWithWaitList, QueueHandle, NEARPEAK_OPENCL_EVENTS)                      \
  X(int, clGetEventInfo, EventHandle, unsigned, std::size_t, void*, std::size_t*)                \
  X(int, clReleaseEvent, EventHandle)                                                            \
  X(ProgramHandle, clCreateProgramWithSource, ContextHandle, unsigned, const char**,             \
    const std::size_t*, int*)                                                                    \
  X(int, clBuildProgram, ProgramHandle, unsigned, const DeviceHandle*, const char*,              \
    ProgramCallback, void*)                                                                      \
  X(int, clGetProgramBuildInfo, ProgramHandle, DeviceHandle, unsigned, std::size_t, void*,       \
    std::size_t*)                                                                                \
  X(int, clReleaseProgram, ProgramHandle)                                                        \
  X(KernelHandle, clCreateKernel, ProgramHandle, const char*, int*)                              \
  X(int, clReleaseKernel, KernelHandle)                                                          \
  X(int, clGetKernelInfo, KernelHandle, unsigned, std::size_t, void*, std::size_t*)              \
  X(int, clGetKernelArgInfo, KernelHandle, unsigned, unsigned, std::size_t, void*, std::size_t*) \
  X(int, clSetKernelArg, KernelHandle, unsigned, std::size_t, const void*)                       \
  X(int, clEnqueueNDRangeKernel, QueueHandle, KernelHandle, unsigned, const std::size_t*,        \
    const std::size_t*, const std::size_t*, NEARPEAK_OPENCL_EVENTS)

// Those of 2.0: null in an older loader.
#define NEARPEAK_OPENCL_SVM_FUNCTIONS(X)                                                           \
  X(void*, clSVMAlloc, ContextHandle, Bits, std::size_t, unsigned)                                 \
  X(void, clSVMFree, ContextHandle, void*)                                                         \
  X(int, clEnqueueSVMMap, QueueHandle, unsigned, Bits, void*, std::size_t, NEARPEAK_OPENCL_EVENTS) \
  X(int, clEnqueueSVMUnmap, QueueHandle, void*, NEARPEAK_OPENCL_EVENTS)                            \
  X(int, clSetKernelArgSVMPointer, KernelHandle, unsigned, const void*)

struct Driver {
#define NEARPEAK_MEMBER(result, name, ...) result (*name)(__VA_ARGS__) = nullptr;
  NEARPEAK_OPENCL_FUNCTIONS(NEARPEAK_MEMBER)
  NEARPEAK_OPENCL_SVM_FUNCTIONS(NEARPEAK_MEMBER)
#undef NEARPEAK_MEMBER
  bool has_svm = false;  // all of the functions of 2.0
};

// "CL_OUT_OF_RESOURCES", or "error -9999". OpenCL has no text of errors.
std::string error_name(int result);

// libOpenCL.so.1, or what the environment's NEARPEAK_OPENCL_LIBRARY names. No driver of a device is
// loaded before its first call. Throws BackendUnavailable. The library stays loaded.
Driver load_driver();

}  // namespace nearpeak::opencl
