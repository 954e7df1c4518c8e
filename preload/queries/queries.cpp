// SPDX-License-Identifier: Apache-2.0
// Preloaded into an application: cuPointerGetAttribute answers for host memory as fast as
// cuPointerGetAttributes does.
//
// Since driver 580 the first takes 1 us for an address that is not the driver's, the second 0.2 us
// (docs/how-to/pointer-queries.md). A library with GPU support asks the first of every buffer. Here
// the second is asked whether the driver knows the address. If it does not, and the driver's own
// function has refused such an address for this attribute before, it is refused here. In all other
// cases, and for attributes that libraries do not ask of every buffer, the driver's own is called.
//
// The functions below stand before the driver's for libraries that link with it, that look it up by
// dlsym, and by cuGetProcAddress. A library that finds it in another way asks the driver.
#include <dlfcn.h>
#include <unistd.h>

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
// Context, memory type, buffer's number, managed, device: what libraries ask of every buffer.
constexpr std::array<int, 5> kAsked{1, kMemoryType, 7, 8, 9};
constexpr int kAttributes = 10;
constexpr char kQuery[] = "cuPointerGetAttribute";
constexpr char kQueries[] = "cuPointerGetAttributes";
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
  // Another tool's, which is preloaded behind this one, has no version.
  if (void* const next = found(RTLD_NEXT, "dlsym")) found = reinterpret_cast<Lookup>(next);
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

// Whether the driver knows an address, or says anything else than that it does not.
bool knows(Queries ask, Address address) {
  unsigned type = 0;
  void* answer = &type;
  return ask(1, &kMemoryType, &answer, address) != 0 || type != 0;
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
  const double several = fastest_us([&] { knows(queries, address); });
  query_us.store(one);
  queries_us.store(several);
  return one > kSlow * several && one > several + kSlowUs ? State::kOn : State::kOff;
}

int answer(void* to, int attribute, Address address) {
  const Query query = of_driver(own_query, kQuery);
  if (query == nullptr) return kNotInitialized;
  const State now = state.load(std::memory_order_relaxed);
  const Queries queries = now == State::kOff ? nullptr : of_driver(own_queries, kQueries);
  const bool asked = std::find(kAsked.begin(), kAsked.end(), attribute) != kAsked.end();
  if (queries == nullptr || to == nullptr || address == 0 || !asked || knows(queries, address)) {
    passed_on.fetch_add(1, std::memory_order_relaxed);
    return query(to, attribute, address);
  }
  std::atomic<bool>& refuses = refused[static_cast<std::size_t>(attribute)];
  if (now == State::kOn && refuses.load(std::memory_order_relaxed)) {
    quick.fetch_add(1, std::memory_order_relaxed);
    return kInvalidValue;
  }
  const int result = query(to, attribute, address);
  passed_on.fetch_add(1, std::memory_order_relaxed);
  refuses.store(result == kInvalidValue, std::memory_order_relaxed);
  if (now == State::kUnknown && result == kInvalidValue)
    state.store(tried(query, queries, address));
  return result;
}

// The function that stands here for the driver's of this name; null where none does.
void* in_place_of(const char* name);
bool is_there(const char* name);

// The driver is the library that has both questions. It stays loaded, as its functions are kept.
bool of_the_driver(void* function) {
  Dl_info where{};
  if (dladdr(function, &where) == 0) return false;
  void* const library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (library == nullptr) return false;
  auto* const queries = reinterpret_cast<Queries>(lookup()(library, kQueries));
  const bool both = queries != nullptr && lookup()(library, kQuery) != nullptr;
  if (both) own_queries.store(queries);
  dlclose(library);
  return both;
}

// What stands here in the place of `function`, which the driver has under this name.
void* taken(const char* name, void* function) {
  void* const own = in_place_of(name);
  if (function == nullptr || own == nullptr || function == own || !of_the_driver(function))
    return function;
  const auto keep = [function](auto& known) {
    typename std::remove_reference_t<decltype(known)>::value_type none = nullptr;
    known.compare_exchange_strong(none, reinterpret_cast<decltype(none)>(function));
  };
  if (std::strcmp(name, kQuery) == 0) keep(own_query);
  if (std::strcmp(name, kFind) == 0) keep(own_find);
  if (std::strcmp(name, kFindWithStatus) == 0) keep(own_find_with_status);
  return own;
}

// From this version of CUDA on the driver gives the function with a status under the first name.
int found(int result, const char* name, void** function, int version) {
  constexpr int kWithStatus = 12000;
  if (result != 0 || name == nullptr || function == nullptr) return result;
  const bool with_status = std::strcmp(name, kFind) == 0 && version >= kWithStatus;
  *function = taken(with_status ? kFindWithStatus : name, *function);
  return result;
}

// At the end of a process that has loaded the driver, if NEARPEAK_QUERIES_REPORT is set.
class Report {
 public:
  ~Report() {
    const char* const wanted = std::getenv("NEARPEAK_QUERIES_REPORT");
    if (wanted == nullptr || std::strcmp(wanted, "0") == 0 || getpid() != process_) return;
    const auto all = static_cast<unsigned long long>(quick.load() + passed_on.load());
    if (all == 0 && of_driver(own_query, kQuery) == nullptr) return;
    if (all == 0)
      std::fprintf(
          stderr, "nearpeak-queries: cuPointerGetAttribute was not called in a way that is seen\n");
    else if (state.load() == State::kUnknown)
      std::fprintf(stderr, "nearpeak-queries: none of %llu queries was of host memory\n", all);
    else
      std::fprintf(stderr,
                   "nearpeak-queries: %s%llu of %llu queries answered quickly; for host memory the "
                   "driver's cuPointerGetAttribute takes %.2f us, cuPointerGetAttributes %.2f us\n",
                   state.load() == State::kOff ? "off: " : "",
                   static_cast<unsigned long long>(quick.load()), all, query_us.load(),
                   queries_us.load());
  }

 private:
  const pid_t process_ = getpid();  // and not of one that it forks
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
                         : found(find(name, function, version, flags), name, function, version);
}

[[gnu::visibility("default")]] int cuGetProcAddress_v2(const char* name, void** function,
                                                       int version, std::uint64_t flags,
                                                       void* status) {
  const FindWithStatus find = of_driver(own_find_with_status, kFindWithStatus);
  return find == nullptr
             ? kNotInitialized
             : found(find(name, function, version, flags, status), name, function, version);
}

// RTLD_NEXT is relative to who calls glibc's function: that call takes the place of this one.
[[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  if (handle == RTLD_NEXT || in_place_of(name) == nullptr) return lookup()(handle, name);
  void* const function = lookup()(handle, name);
  // By RTLD_DEFAULT what stands here is found without a driver, too.
  return function != in_place_of(name) ? taken(name, function)
         : is_there(name)              ? function
                                       : nullptr;
}
}

namespace {

void* in_place_of(const char* name) {
  if (std::strcmp(name, kQuery) == 0) return reinterpret_cast<void*>(&cuPointerGetAttribute);
  if (std::strcmp(name, kFind) == 0) return reinterpret_cast<void*>(&cuGetProcAddress);
  if (std::strcmp(name, kFindWithStatus) == 0) return reinterpret_cast<void*>(&cuGetProcAddress_v2);
  return nullptr;
}

// Whether the driver has the function that one here stands for.
bool is_there(const char* name) {
  if (std::strcmp(name, kFind) == 0) return of_driver(own_find, kFind) != nullptr;
  if (std::strcmp(name, kFindWithStatus) == 0)
    return of_driver(own_find_with_status, kFindWithStatus) != nullptr;
  return of_driver(own_query, kQuery) != nullptr;
}

}  // namespace
