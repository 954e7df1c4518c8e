// SPDX-License-Identifier: Apache-2.0
// Preloaded into an application: cuPointerGetAttribute answers for host memory as fast as
// cuPointerGetAttributes does.
//
// Since driver 580 the first takes 1 us for an address that is not the driver's, the second 0.2 us
// (docs/pointer-queries.md). A library with GPU support asks the first of every buffer. Here the
// second is asked whether the driver knows the address. If it does not, and the driver's own
// function has refused such an address for this attribute before, it is refused here. In all other
// cases the driver's own function is called.
//
// The functions below stand before the driver's for libraries that link with it, that look it up by
// dlsym, and by cuGetProcAddress. A library that finds it in another way asks the driver.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <type_traits>

namespace {

using Address = unsigned long long;  // CUdeviceptr
using Query = int (*)(void* answer, int attribute, Address address);
using Queries = int (*)(unsigned count, const int* attributes, void** answers, Address address);
using Find = int (*)(const char* name, void** function, int version, std::uint64_t flags);
using FindWithStatus = int (*)(const char* name, void** function, int version, std::uint64_t flags,
                               void* status);
using Lookup = void* (*)(void* handle, const char* name) noexcept;

constexpr int kInvalidValue = 1;    // CUDA_ERROR_INVALID_VALUE
constexpr int kNotInitialized = 3;  // CUDA_ERROR_NOT_INITIALIZED
constexpr int kMemoryType = 2;      // CU_POINTER_ATTRIBUTE_MEMORY_TYPE; its answer is never 0
constexpr int kAttributes = 64;     // more than there are
constexpr char kQuery[] = "cuPointerGetAttribute";
constexpr char kFind[] = "cuGetProcAddress";
constexpr char kFindWithStatus[] = "cuGetProcAddress_v2";

std::atomic<Lookup> own_lookup{nullptr};
std::atomic<Query> own_query{nullptr};
std::atomic<Queries> own_queries{nullptr};
std::atomic<Find> own_find{nullptr};
std::atomic<FindWithStatus> own_find_with_status{nullptr};

// Attributes for which the driver has refused an address that it does not know.
std::array<std::atomic<bool>, kAttributes> refused{};
enum class State { kUnknown, kOn, kOff };
std::atomic<State> state{State::kUnknown};
std::atomic<double> query_us{0}, queries_us{0};
std::atomic<std::uint64_t> quick{0}, passed_on{0};

// glibc's own function: the one that stands here has its name.
Lookup lookup() {
  Lookup found = own_lookup.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
    if (found == nullptr) found = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", version));
  if (found == nullptr) std::abort();
  own_lookup.store(found);
  return found;
}

template <class Function>
Function of_driver(std::atomic<Function>& known, const char* name) {
  Function found = known.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  void* next = lookup()(RTLD_NEXT, name);
  if (next == nullptr)  // loaded by dlopen
    if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); driver != nullptr)
      next = lookup()(driver, name);
  found = reinterpret_cast<Function>(next);
  if (found != nullptr) known.store(found, std::memory_order_release);
  return found;
}

bool knows(Queries ask, Address address, int& result) {
  unsigned type = 0;
  void* answer = &type;
  result = ask(1, &kMemoryType, &answer, address);
  return result != 0 || type != 0;
}

template <class Ask>
double fastest_us(Ask ask) {
  constexpr int kTimes = 16;
  double fastest = 1e9;
  for (int i = 0; i < kTimes; ++i) {
    timespec begin{}, end{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ask();
    clock_gettime(CLOCK_MONOTONIC, &end);
    fastest = std::min(fastest, 1e6 * static_cast<double>(end.tv_sec - begin.tv_sec) +
                                    1e-3 * static_cast<double>(end.tv_nsec - begin.tv_nsec));
  }
  return fastest;
}

// Whether the driver is slow, by an address that it has just not known.
State tried(Query query, Queries queries, Address address) {
  constexpr double kSlow = 2;  // times, and
  constexpr double kSlowUs = 0.25;
  const double one = fastest_us([&] {
    unsigned type = 0;
    query(&type, kMemoryType, address);
  });
  const double several = fastest_us([&] {
    int result = 0;
    knows(queries, address, result);
  });
  query_us.store(one);
  queries_us.store(several);
  return one > kSlow * several && one > several + kSlowUs ? State::kOn : State::kOff;
}

int answer(void* to, int attribute, Address address) {
  const Query query = of_driver(own_query, kQuery);
  if (query == nullptr) return kNotInitialized;
  const State now = state.load(std::memory_order_relaxed);
  const Queries queries =
      now == State::kOff ? nullptr : of_driver(own_queries, "cuPointerGetAttributes");
  int result = 0;
  if (queries == nullptr || to == nullptr || attribute < 0 || attribute >= kAttributes ||
      knows(queries, address, result)) {
    passed_on.fetch_add(1, std::memory_order_relaxed);
    return query(to, attribute, address);
  }
  std::atomic<bool>& refuses = refused[static_cast<std::size_t>(attribute)];
  if (now == State::kOn && refuses.load(std::memory_order_relaxed)) {
    quick.fetch_add(1, std::memory_order_relaxed);
    return kInvalidValue;
  }
  result = query(to, attribute, address);
  passed_on.fetch_add(1, std::memory_order_relaxed);
  refuses.store(result == kInvalidValue, std::memory_order_relaxed);
  if (now == State::kUnknown && result == kInvalidValue)
    state.store(tried(query, queries, address));
  return result;
}

// The function that stands here for the driver's of this name; null where none does.
void* in_place_of(const char* name);

// What stands here in the place of `function`, which the driver has under this name.
void* taken(const char* name, void* function) {
  void* const own = in_place_of(name);
  if (function == nullptr || own == nullptr || function == own) return function;
  const auto keep = [function](auto& known) {
    typename std::remove_reference_t<decltype(known)>::value_type none = nullptr;
    known.compare_exchange_strong(none, reinterpret_cast<decltype(none)>(function));
  };
  if (std::strcmp(name, kQuery) == 0) keep(own_query);
  if (std::strcmp(name, kFind) == 0) keep(own_find);
  if (std::strcmp(name, kFindWithStatus) == 0) keep(own_find_with_status);
  return own;
}

int found(int result, const char* name, void** function) {
  if (result == 0 && name != nullptr && function != nullptr) *function = taken(name, *function);
  return result;
}

// At the end, if NEARPEAK_QUERIES_REPORT is set.
class Report {
 public:
  ~Report() {
    const char* const wanted = std::getenv("NEARPEAK_QUERIES_REPORT");
    if (wanted == nullptr || std::strcmp(wanted, "0") == 0) return;
    const auto all = quick.load() + passed_on.load();
    if (state.load() == State::kOff)
      std::fprintf(
          stderr,
          "nearpeak-queries: off: the driver's cuPointerGetAttribute takes %.2f us for host "
          "memory, cuPointerGetAttributes %.2f us\n",
          query_us.load(), queries_us.load());
    else if (all == 0)
      std::fprintf(
          stderr, "nearpeak-queries: cuPointerGetAttribute was not called in a way that is seen\n");
    else
      std::fprintf(
          stderr,
          "nearpeak-queries: %llu of %llu queries were of host memory and answered in %.2f "
          "us, not in %.2f\n",
          static_cast<unsigned long long>(quick.load()), static_cast<unsigned long long>(all),
          queries_us.load(), query_us.load());
  }
} report;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int cuPointerGetAttribute(void* to, int attribute, Address address) {
  return answer(to, attribute, address);
}

[[gnu::visibility("default")]] int cuGetProcAddress(const char* name, void** function, int version,
                                                    std::uint64_t flags) {
  const Find find = of_driver(own_find, kFind);
  return find == nullptr ? kNotInitialized
                         : found(find(name, function, version, flags), name, function);
}

[[gnu::visibility("default")]] int cuGetProcAddress_v2(const char* name, void** function,
                                                       int version, std::uint64_t flags,
                                                       void* status) {
  const FindWithStatus find = of_driver(own_find_with_status, kFindWithStatus);
  return find == nullptr ? kNotInitialized
                         : found(find(name, function, version, flags, status), name, function);
}

// RTLD_NEXT is relative to who calls glibc's function: that call takes the place of this one.
[[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  if (handle == RTLD_NEXT || in_place_of(name) == nullptr) return lookup()(handle, name);
  void* const function = lookup()(handle, name);
  // By RTLD_DEFAULT what stands here is found without a driver, too.
  if (function == in_place_of(name)) return of_driver(own_query, kQuery) ? function : nullptr;
  return taken(name, function);
}
}

namespace {

void* in_place_of(const char* name) {
  if (std::strcmp(name, kQuery) == 0) return reinterpret_cast<void*>(&cuPointerGetAttribute);
  if (std::strcmp(name, kFind) == 0) return reinterpret_cast<void*>(&cuGetProcAddress);
  if (std::strcmp(name, kFindWithStatus) == 0) return reinterpret_cast<void*>(&cuGetProcAddress_v2);
  return nullptr;
}

}  // namespace
