// SPDX-License-Identifier: Apache-2.0
// What a process asks of the CUDA driver, and what the device does for it, by CUPTI. The driver
// loads this library into each process that initialises it (CUDA_INJECTION64_PATH) and calls
// InitializeInjection.
#include "explain/cuda.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "explain/cupti.hpp"
#include "explain/events.hpp"

namespace nearpeak::explain {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;  // of activity records
constexpr int kFlushForced = 1;                             // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

struct Cupti {
  int (*get_version)(std::uint32_t*);
  int (*result_text)(int, const char**);
  int (*subscribe)(void**, cupti::Callback, void*);
  int (*enable_domain)(std::uint32_t, void*, std::uint32_t);
  int (*register_buffers)(cupti::BufferRequested, cupti::BufferCompleted);
  int (*enable_activity)(std::uint32_t);
  int (*next_record)(std::uint8_t*, std::size_t, cupti::Activity**);
  int (*flush)(std::uint32_t);
  int (*count_dropped)(void*, std::uint32_t, std::size_t*);
  int (*timestamp)(std::uint64_t*);
};
Cupti lib{};
pid_t process = 0;

// How many bytes a call of the driver moves, registers or allocates: which word of its parameters.
int word_of_bytes(const char* function) {
  const auto begins = [function](const char* text) {
    return std::strncmp(function, text, std::strlen(text)) == 0;
  };
  if (begins("cuMemcpyPeer")) return 4;
  if (begins("cuMemcpy2D") || begins("cuMemcpy3D") || begins("cuMemcpyBatch")) return -1;
  if (begins("cuMemcpyAtoA")) return 4;
  // Of these the third is an address or an offset.
  for (const char* const one : {"cuMemcpyAtoH", "cuMemcpyHtoA", "cuMemcpyAtoD", "cuMemcpyDtoA"})
    if (begins(one)) return 3;
  if (begins("cuMemcpy")) return 2;
  if (begins("cuMemHostRegister") || begins("cuMemAlloc_") || begins("cuMemAllocManaged") ||
      begins("cuMemHostAlloc") || begins("cuMemAllocHost"))
    return 1;
  return -1;
}

// Of each call its word of bytes, looked up once; two threads that do it at once find the same.
constexpr int kUnknown = -2;
struct Word {
  std::atomic<int> number{kUnknown};
};
Word words[kFirstText - kFirstDriverName];

// Called at the begin and the end of each call of the driver. Those within a call of the driver are
// not told.
void called(void*, std::uint32_t domain, std::uint32_t call, const void* told) {
  if (domain != cupti::kDriverDomain || !recording()) return;
  const auto& data = *static_cast<const cupti::CallbackData*>(told);
  const std::uint64_t now = now_ns();
  if (data.site == cupti::kEnter) {
    *data.own = now;
    return;
  }
  if (*data.own == 0 || call >= kFirstText - kFirstDriverName) return;  // began before
  std::atomic<int>& known = words[call].number;
  int word = known.load(std::memory_order_relaxed);
  if (word == kUnknown) {
    name(static_cast<int>(kFirstDriverName + call), data.function);
    word = word_of_bytes(data.function);
    known.store(word, std::memory_order_relaxed);
  }
  std::uint64_t bytes = 0;
  if (word >= 0)
    std::memcpy(&bytes, static_cast<const char*>(data.parameters) + 8 * word, sizeof bytes);
  const auto number = static_cast<std::uint16_t>(kFirstDriverName + call);
  add(Kind::kDriver, number, *data.own, now, bytes);
  if (is_own_work()) add(Kind::kOwnCall, number, *data.own, now, data.correlation);
}

void buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  if (*buffer == nullptr) dropped(1);  // one at least
  *records = 0;                        // as many as fit
}

void keep(const cupti::Activity* record) {
  if (record->kind == cupti::kMemcpy || record->kind == cupti::kMemcpyPeer) {
    const auto& copy = *reinterpret_cast<const cupti::Copy*>(record);
    const auto from_to = static_cast<unsigned>(copy.from_kind) << 5U | copy.to_kind;
    const std::uint32_t call =
        record->kind == cupti::kMemcpy
            ? copy.correlation
            : reinterpret_cast<const cupti::CopyOfPeers*>(record)->correlation;
    add_of_device(
        Kind::kCopy,
        static_cast<std::uint16_t>(static_cast<unsigned>(copy.copy_kind) << 10U | from_to),
        copy.begin_ns, copy.end_ns, copy.bytes, call);
  } else if (record->kind == cupti::kMemset) {
    const auto& fill = *reinterpret_cast<const cupti::Fill*>(record);
    add_of_device(Kind::kFill, 0, fill.begin_ns, fill.end_ns, fill.bytes, fill.correlation);
  } else if (record->kind == cupti::kConcurrentKernel) {
    const auto& kernel = *reinterpret_cast<const cupti::Kernel*>(record);
    const char* const text = kernel.name == nullptr ? "kernel" : kernel.name;
    add_of_device(Kind::kKernel, text_number(text), kernel.begin_ns, kernel.end_ns, 0,
                  kernel.correlation);
  }
}

// Those for which CUPTI had no buffer, since it was last asked.
void ask_for_dropped(void* context, std::uint32_t stream) {
  std::size_t records = 0;
  if (lib.count_dropped(context, stream, &records) == cupti::kSuccess && records > 0)
    dropped(records);
}

void buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                      std::size_t valid) {
  cupti::Activity* record = nullptr;
  while (lib.next_record(buffer, valid, &record) == cupti::kSuccess) keep(record);
  std::free(buffer);
  ask_for_dropped(context, stream);
}

void tell_instant() {
  Instant instant{};
  const std::uint64_t before = now_ns();
  if (lib.timestamp(&instant.device_ns) != cupti::kSuccess) return;
  instant.ns = before + (now_ns() - before) / 2;
  same_instant(instant);
}

// What is still to come of the device's records. A process that calls exit after MPI_Finalize comes
// here; one that is killed leaves its calls alone.
void finish() {
  if (getpid() != process) return;  // a forked one, to which CUPTI does not reach
  lib.flush(kFlushForced);
  ask_for_dropped(nullptr, 0);
  tell_instant();
}

template <class Function>
bool find(void* library, Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library) {
  return find(library, lib.get_version, "cuptiGetVersion") &&
         find(library, lib.result_text, "cuptiGetResultString") &&
         find(library, lib.subscribe, "cuptiSubscribe") &&
         find(library, lib.enable_domain, "cuptiEnableDomain") &&
         find(library, lib.register_buffers, "cuptiActivityRegisterCallbacks") &&
         find(library, lib.enable_activity, "cuptiActivityEnable") &&
         find(library, lib.next_record, "cuptiActivityGetNextRecord") &&
         find(library, lib.flush, "cuptiActivityFlushAll") &&
         find(library, lib.count_dropped, "cuptiActivityGetNumDroppedRecords") &&
         find(library, lib.timestamp, "cuptiGetTimestamp");
}

// Why the driver's calls cannot be seen; "" if they are.
std::string begin_to_see() {
  const char* const file = std::getenv("NEARPEAK_CUPTI_LIBRARY");
  if (file == nullptr)
    return "CUPTI was not found: it comes with CUDA's toolkit and as the package "
           "nvidia-cuda-cupti, and NEARPEAK_CUPTI_LIBRARY names it";
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("CUPTI cannot be loaded: ") + dlerror();
  if (!find_all(library)) return std::string(file) + " is no CUPTI, or too old a one";
  std::uint32_t version = 0;
  lib.get_version(&version);
  if (version < cupti::kOldestVersion)
    return std::string(file) + " is of version " + std::to_string(version) +
           " of CUPTI's interface: that of CUDA 12 or later is needed";
  const auto refused = [](const char* call, int result) {
    const char* text = "";
    lib.result_text(result, &text);
    return std::string(call) + ": " + text;
  };
  void* subscriber = nullptr;
  if (const int result = lib.subscribe(&subscriber, called, nullptr); result != cupti::kSuccess)
    return refused("cuptiSubscribe", result);
  if (const int result = lib.enable_domain(1, subscriber, cupti::kDriverDomain);
      result != cupti::kSuccess)
    return refused("cuptiEnableDomain", result);
  if (const int result = lib.register_buffers(buffer_requested, buffer_completed);
      result != cupti::kSuccess)
    return refused("cuptiActivityRegisterCallbacks", result);
  for (const auto kind :
       {cupti::kMemcpy, cupti::kMemcpyPeer, cupti::kMemset, cupti::kConcurrentKernel})
    if (const int result = lib.enable_activity(kind); result != cupti::kSuccess)
      return refused("cuptiActivityEnable", result);
  process = getpid();
  tell_instant();
  std::atexit(finish);
  return "";
}

// The driver, which has loaded this library.
void* driver() {
  const char* const named = std::getenv("NEARPEAK_CUDA_LIBRARY");
  return dlopen(named == nullptr ? "libcuda.so.1" : named, RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

void call_driver() {
  using Call = int (*)(int*);
  static const Call call = lib.subscribe == nullptr
                               ? nullptr
                               : reinterpret_cast<Call>(dlsym(driver(), "cuDriverGetVersion"));
  int version = 0;
  if (call != nullptr) call(&version);
}

}  // namespace nearpeak::explain

// The driver calls it once; what it returns is whether it went well.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace nearpeak::explain;
  static const std::string why_not = begin_to_see();
  device_seen(why_not.c_str());
  return 1;
}
