// SPDX-License-Identifier: Apache-2.0
// The part of NCCL that is used here, loaded when the program runs. The prototypes follow NVIDIA's
// "NCCL API" (docs.nvidia.com/deeplearning/nccl); RCCL has the same.
#pragma once

#include <cstddef>
#include <string>

namespace nearpeak::nccl {

using CommHandle = struct CommTag*;
using StreamHandle = void*;  // a stream of the GPU's driver
using WindowHandle = struct WindowTag*;

struct UniqueId {
  char bytes[128];
};

constexpr int kSuccess = 0;
constexpr int kInProgress = 7;

enum DataType { kInt8 = 0, kInt32 = 2, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9 };
constexpr int kSum = 0;
constexpr int kCollectiveSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

// X(name of the symbol, argument types)
#define NEARPEAK_NCCL_FUNCTIONS(X)                                                        \
  X(ncclGetVersion, int*)                                                                 \
  X(ncclGetUniqueId, UniqueId*)                                                           \
  X(ncclCommInitRank, CommHandle*, int, UniqueId, int)                                    \
  X(ncclCommDestroy, CommHandle)                                                          \
  X(ncclCommAbort, CommHandle)                                                            \
  X(ncclCommGetAsyncError, CommHandle, int*)                                              \
  X(ncclGroupStart)                                                                       \
  X(ncclGroupEnd)                                                                         \
  X(ncclSend, const void*, std::size_t, int, int, CommHandle, StreamHandle)               \
  X(ncclRecv, void*, std::size_t, int, int, CommHandle, StreamHandle)                     \
  X(ncclAllReduce, const void*, void*, std::size_t, int, int, CommHandle, StreamHandle)   \
  X(ncclBroadcast, const void*, void*, std::size_t, int, int, CommHandle, StreamHandle)   \
  X(ncclReduce, const void*, void*, std::size_t, int, int, int, CommHandle, StreamHandle) \
  X(ncclAllGather, const void*, void*, std::size_t, int, CommHandle, StreamHandle)        \
  X(ncclReduceScatter, const void*, void*, std::size_t, int, int, CommHandle, StreamHandle)

// Of later versions, null in older ones: X(name, the first version with it, argument types)
#define NEARPEAK_NCCL_LATER_FUNCTIONS(X)                                               \
  X(ncclMemAlloc, 21900, void**, std::size_t)                                          \
  X(ncclMemFree, 21900, void*)                                                         \
  X(ncclCommRegister, 21900, CommHandle, void*, std::size_t, void**)                   \
  X(ncclCommDeregister, 21900, CommHandle, void*)                                      \
  X(ncclCommWindowRegister, 22700, CommHandle, void*, std::size_t, WindowHandle*, int) \
  X(ncclCommWindowDeregister, 22700, CommHandle, WindowHandle)

struct Api {
#define NEARPEAK_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  NEARPEAK_NCCL_FUNCTIONS(NEARPEAK_MEMBER)
#undef NEARPEAK_MEMBER
#define NEARPEAK_MEMBER(name, first, ...) int (*name)(__VA_ARGS__) = nullptr;
  NEARPEAK_NCCL_LATER_FUNCTIONS(NEARPEAK_MEMBER)
#undef NEARPEAK_MEMBER
  const char* (*ncclGetErrorString)(int) = nullptr;
  const char* (*ncclGetLastError)(CommHandle) = nullptr;  // of 2.13 and later; else null
  int version = 0;                                        // as ncclGetVersion has it
  std::string file;                                       // as it was asked for

  // "NCCL 2.28.3"
  std::string name() const;
  // "NCCL 2.28.3, /usr/lib/x86_64-linux-gnu/libnccl.so.2"
  std::string text() const;
};

// "2.28.3" for 22803, "2.8.4" for 2804: NCCL_VERSION of nccl.h.
std::string version_text(int version);

// "NCCL 2.18.3 has no ncclCommRegister: 2.19 is the first"; empty where it has the function.
std::string why_without(const Api& api, const std::string& function);

// Loads the library of this name or path; where it is empty, whatever NCCL or RCCL the loader
// finds. Throws BackendUnavailable.
Api load(const std::string& library);

}  // namespace nearpeak::nccl
