// SPDX-License-Identifier: Apache-2.0
// The part of NCCL that is used here, loaded when the program runs. The prototypes follow NVIDIA's
// "NCCL API" (docs.nvidia.com/deeplearning/nccl); RCCL has the same.
#pragma once

#include <cstddef>
#include <string>

namespace nearpeak::nccl {

using CommHandle = struct CommTag*;
using StreamHandle = void*;  // a stream of the GPU's driver

struct UniqueId {
  char bytes[128];
};

constexpr int kSuccess = 0;
constexpr int kInProgress = 7;

enum DataType { kInt8 = 0, kInt32 = 2, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9 };
constexpr int kSum = 0;

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

struct Api {
#define NEARPEAK_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  NEARPEAK_NCCL_FUNCTIONS(NEARPEAK_MEMBER)
#undef NEARPEAK_MEMBER
  const char* (*ncclGetErrorString)(int) = nullptr;
  const char* (*ncclGetLastError)(CommHandle) = nullptr;  // of 2.13 and later; else null
  int version = 0;                                        // as ncclGetVersion has it
  std::string file;                                       // as it was asked for

  // "NCCL 2.28.3, /usr/lib/x86_64-linux-gnu/libnccl.so.2"
  std::string text() const;
};

// "2.28.3" for 22803, "2.8.4" for 2804: NCCL_VERSION of nccl.h.
std::string version_text(int version);

// Loads the library of this name or path; where it is empty, whatever NCCL or RCCL the loader
// finds. Throws BackendUnavailable.
Api load(const std::string& library);

}  // namespace nearpeak::nccl
