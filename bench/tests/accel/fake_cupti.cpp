// SPDX-License-Identifier: Apache-2.0
// A CUPTI for the fake CUDA driver (fake_cuda.cpp), which tells it of its calls and copies. Its
// clock runs an hour ahead of the host's, as nobody promises that they are one.
//
// The environment's NEARPEAK_FAKE_CUPTI is a comma list of
//   CALL:ERROR  this call fails with this error        version=N  the version that it says it is of
//   dropped=N   so many records are lost of each buffer
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "../../../preload/explain/cupti.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace nearpeak::cupti;

constexpr std::uint64_t kAheadNs = 3600ULL * 1'000'000'000ULL;

Callback callback = nullptr;
bool enabled = false;
BufferRequested requested = nullptr;
BufferCompleted completed = nullptr;
std::vector<std::uint32_t> kinds;
std::vector<Copy> copies;
std::map<std::string, std::uint32_t> numbers;
std::mutex lock;
thread_local std::vector<std::uint64_t> own;
std::atomic<std::uint32_t> calls{0};
thread_local std::uint32_t call = 0;  // the last one that began

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec) + kAheadNs;
}

// The number that the environment gives this word.
int given(const std::string& word, int otherwise) {
  const char* const text = std::getenv("NEARPEAK_FAKE_CUPTI");
  const std::string list = std::string(",") + (text == nullptr ? "" : text);
  const std::size_t at = list.find("," + word);
  return at == std::string::npos ? otherwise : std::atoi(list.c_str() + at + 1 + word.size());
}
int fault(const char* call) { return given(std::string(call) + ":", kSuccess); }

}  // namespace

EXPORT int cuptiGetVersion(std::uint32_t* version) {
  *version = static_cast<std::uint32_t>(given("version=", 130001));
  return kSuccess;
}

EXPORT int cuptiGetResultString(int result, const char** text) {
  *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return kSuccess;
}

EXPORT int cuptiSubscribe(void** subscriber, Callback function, void*) {
  if (const int error = fault(__func__)) return error;
  callback = function;
  *subscriber = &callback;
  return kSuccess;
}

EXPORT int cuptiEnableDomain(std::uint32_t enable, void* subscriber, std::uint32_t domain) {
  if (subscriber != &callback || domain != kDriverDomain) return 1;
  enabled = enable != 0;
  return kSuccess;
}

EXPORT int cuptiActivityRegisterCallbacks(BufferRequested ask, BufferCompleted take) {
  requested = ask;
  completed = take;
  return kSuccess;
}

EXPORT int cuptiActivityEnable(std::uint32_t kind) {
  if (const int error = fault(__func__)) return error;
  kinds.push_back(kind);
  return kSuccess;
}

EXPORT int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, Activity** record) {
  auto* const begin =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + sizeof(Copy);
  if (begin + sizeof(Copy) > buffer + bytes) return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = reinterpret_cast<Activity*>(begin);
  return kSuccess;
}

EXPORT int cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard held(lock);
  while (!copies.empty()) {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, records = 0;
    requested(&buffer, &bytes, &records);
    const std::size_t n = std::min(copies.size(), bytes / sizeof(Copy));
    if (buffer == nullptr || n == 0) return 1;
    std::memcpy(buffer, copies.data(), n * sizeof(Copy));
    copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(n));
    completed(&callback, 0, buffer, bytes, n * sizeof(Copy));
  }
  return kSuccess;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void* context, std::uint32_t, std::size_t* dropped) {
  *dropped = context == &callback ? static_cast<std::size_t>(given("dropped=", 0)) : 0;
  return kSuccess;
}

EXPORT int cuptiGetTimestamp(std::uint64_t* now) {
  *now = now_ns();
  return kSuccess;
}

// A call of the driver begins (site 0) or ends.
EXPORT void fake_cupti_call(std::uint32_t site, const char* function, const void* parameters) {
  if (!enabled) return;
  std::uint32_t number = 0;
  {
    const std::lock_guard held(lock);
    number =
        numbers.emplace(function, static_cast<std::uint32_t>(numbers.size() + 1)).first->second;
  }
  if (site == kEnter) {
    own.push_back(0);
    call = ++calls;
  }
  int result = 0;
  CallbackData data{};
  data.site = site;
  data.function = function;
  data.parameters = parameters;
  data.returned = &result;
  data.own = &own.back();
  data.correlation = call;
  callback(nullptr, kDriverDomain, number, &data);
  if (site != kEnter) own.pop_back();
}

// The device has copied, from one kind of memory to another, between two instants of the host.
EXPORT void fake_cupti_copied(int copy_kind, int from, int to, std::uint64_t bytes,
                              std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (kinds.empty()) return;
  const std::lock_guard held(lock);
  Copy copy{};
  copy.kind = kMemcpy;
  copy.copy_kind = static_cast<std::uint8_t>(copy_kind);
  copy.from_kind = static_cast<std::uint8_t>(from);
  copy.to_kind = static_cast<std::uint8_t>(to);
  copy.bytes = bytes;
  copy.correlation = call;
  copy.begin_ns = begin_ns + kAheadNs;
  copy.end_ns = end_ns + kAheadNs;
  copies.push_back(copy);
}
