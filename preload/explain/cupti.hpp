// SPDX-License-Identifier: Apache-2.0
// What is used of CUPTI, NVIDIA's profiling interface (cupti_callbacks.h, cupti_activity.h of CUDA
// 12 and 13): its library is loaded where it is found, so nothing of it is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearpeak::cupti {

constexpr std::uint32_t kOldestVersion = 18;  // CUPTI_API_VERSION of CUDA 12.0
constexpr int kSuccess = 0;

constexpr std::uint32_t kDriverDomain = 1;  // CUPTI_CB_DOMAIN_DRIVER_API
constexpr std::uint32_t kEnter = 0;         // CUPTI_API_ENTER

// CUPTI_ACTIVITY_KIND_*
constexpr std::uint32_t kMemcpy = 1;
constexpr std::uint32_t kMemset = 2;
constexpr std::uint32_t kConcurrentKernel = 10;
constexpr std::uint32_t kMemcpyPeer = 22;

// CUpti_CallbackData
struct CallbackData {
  std::uint32_t site;
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  std::uint32_t context_number;
  std::uint64_t* own;  // shared by enter and exit of one call
  std::uint32_t correlation;
};

using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t call, const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t bytes, std::size_t valid);

// The beginnings of activity records, which are the same in all these versions.
struct Activity {
  std::uint32_t kind;
};
struct Copy {  // CUpti_ActivityMemcpy*
  std::uint32_t kind;
  std::uint8_t copy_kind;
  std::uint8_t from_kind;
  std::uint8_t to_kind;
  std::uint8_t flags;
  std::uint64_t bytes;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;  // between two devices that of the copy's source
};
struct CopyOfPeers {  // CUpti_ActivityMemcpyPtoP*
  Copy as_any;        // but for its correlation
  std::uint32_t to[3];
  std::uint32_t correlation;
};
struct Fill {  // CUpti_ActivityMemset*
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t correlation;
};
struct Kernel {  // CUpti_ActivityKernel*
  std::uint32_t kind;
  std::uint8_t unused[12];
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t completed_ns;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::int32_t grid[3];
  std::int32_t block[3];
  std::int32_t memory[2];
  std::uint32_t local_memory[2];
  std::uint32_t correlation;
  std::int64_t number;
  const char* name;
};
static_assert(offsetof(CallbackData, correlation) == 64 && offsetof(Copy, end_ns) == 24 &&
              offsetof(Copy, correlation) == 44 && offsetof(CopyOfPeers, correlation) == 60 &&
              offsetof(Fill, correlation) == 44 && offsetof(Kernel, begin_ns) == 16 &&
              offsetof(Kernel, correlation) == 92 && offsetof(Kernel, name) == 104);

}  // namespace nearpeak::cupti
