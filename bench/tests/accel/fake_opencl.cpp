// SPDX-License-Identifier: Apache-2.0
// An OpenCL library that gives every call to the real one, and can do what the real one does not do
// by itself. The environment's NEARPEAK_FAKE_OPENCL is a comma list of
//   FUNCTION:ERROR[:N]   this function fails, always or at its N-th call only
//   svm=BITS             the capabilities of shared virtual memory that devices have: 0 none, 1
//   coarse identity=1           devices have a UUID and a PCI address version=TEXT         of
//   devices
// Memory of coarse sharing is watched: a kernel may have it only while the CPU has not.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>

#include "accel/opencl/driver.hpp"

namespace {

using namespace nearpeak::opencl;

constexpr int kInvalidOperation = -59;

struct Settings {
  std::string text;                   // of the environment
  std::map<std::string, int> errors;  // by function
  std::map<std::string, int> at;      // 0: always
  std::map<std::string, std::string> values;
};

std::mutex mutex;
int live = 0;
std::map<std::string, int> calls;
std::map<const void*, bool> coarse;  // whether the CPU has it
std::map<KernelHandle, std::set<const void*>> given;

// Read anew whenever they changed, which starts the counts of calls again.
const Settings& settings() {
  static Settings now;
  const char* text = std::getenv("NEARPEAK_FAKE_OPENCL");
  if (text == nullptr) text = "";
  if (now.text == text) return now;
  now = {text, {}, {}, {}};
  calls.clear();
  std::istringstream list(text);
  for (std::string each; std::getline(list, each, ',');) {
    if (const auto equals = each.find('='); equals != std::string::npos) {
      now.values[each.substr(0, equals)] = each.substr(equals + 1);
      continue;
    }
    char name[64];
    int error = 0;
    int at = 0;
    if (std::sscanf(each.c_str(), "%63[^:]:%d:%d", name, &error, &at) < 2) std::abort();
    now.errors[name] = error;
    now.at[name] = at;
  }
  return now;
}

// The error that a call is to return, or 0.
int told(const std::string& function) {
  const std::lock_guard lock(mutex);
  const Settings& all = settings();
  const auto error = all.errors.find(function);
  if (error == all.errors.end()) return 0;
  const int at = all.at.at(function);
  return at == 0 || ++calls[function] == at ? error->second : 0;
}

std::string value(const std::string& name) {
  const std::lock_guard lock(mutex);
  const auto found = settings().values.find(name);
  return found == settings().values.end() ? "" : found->second;
}

const Driver& real() {
  static const Driver driver = [] {
    Driver made;
    void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
#define FAKE_FIND(result, symbol, ...) \
  made.symbol = reinterpret_cast<decltype(made.symbol)>(dlsym(library, #symbol));
    NEARPEAK_OPENCL_FUNCTIONS(FAKE_FIND)
    NEARPEAK_OPENCL_SVM_FUNCTIONS(FAKE_FIND)
    return made;
  }();
  return driver;
}

int give(const void* data, std::size_t size, std::size_t room, void* out, std::size_t* needed) {
  if (needed != nullptr) *needed = size;
  if (out != nullptr) std::memcpy(out, data, std::min(size, room));
  return kSuccess;
}

int device_info(DeviceHandle device, unsigned what, std::size_t bytes, void* out,
                std::size_t* needed) {
  const bool identity = value("identity") == "1";
  if (what == kSvmCapabilities && !value("svm").empty()) {
    const Bits bits = std::stoull(value("svm"));
    return give(&bits, sizeof(bits), bytes, out, needed);
  }
  if (what == kVersion && !value("version").empty())
    return give(value("version").c_str(), value("version").size() + 1, bytes, out, needed);
  if (what == kExtensions && identity) {
    const char words[] = "cl_khr_device_uuid_not cl_khr_pci_bus_info cl_khr_device_uuid";
    return give(words, sizeof(words), bytes, out, needed);
  }
  if (what == kUuid && identity) {
    unsigned char uuid[16];
    for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(17 * i);
    return give(uuid, sizeof(uuid), bytes, out, needed);
  }
  if (what == kPciInfo && identity) {
    const unsigned pci[] = {0x10, 0xc1, 2, 1};
    return give(pci, sizeof(pci), bytes, out, needed);
  }
  return real().clGetDeviceInfo(device, what, bytes, out, needed);
}

void* svm_alloc(ContextHandle context, Bits flags, std::size_t bytes, unsigned alignment) {
  void* const start = real().clSVMAlloc(context, flags, bytes, alignment);
  const std::lock_guard lock(mutex);
  if (start != nullptr && (flags & kMemSvmFine) == 0) coarse[start] = false;
  return start;
}

int map(QueueHandle queue, unsigned blocking, Bits flags, void* start, std::size_t bytes,
        unsigned count, const EventHandle* events, EventHandle* event) {
  const std::lock_guard lock(mutex);
  bool& mapped = coarse[start];
  if (mapped) return kInvalidOperation;
  mapped = true;
  return real().clEnqueueSVMMap(queue, blocking, flags, start, bytes, count, events, event);
}

int unmap(QueueHandle queue, void* start, unsigned count, const EventHandle* events,
          EventHandle* event) {
  const std::lock_guard lock(mutex);
  bool& mapped = coarse[start];
  if (!mapped) return kInvalidOperation;
  mapped = false;
  return real().clEnqueueSVMUnmap(queue, start, count, events, event);
}

int set_pointer(KernelHandle kernel, unsigned parameter, const void* pointer) {
  const std::lock_guard lock(mutex);
  auto after = coarse.upper_bound(pointer);
  if (after != coarse.begin()) given[kernel].insert((--after)->first);
  return real().clSetKernelArgSVMPointer(kernel, parameter, pointer);
}

int launch(QueueHandle queue, KernelHandle kernel, unsigned dimensions, const std::size_t* offset,
           const std::size_t* all, const std::size_t* group, unsigned count,
           const EventHandle* events, EventHandle* event) {
  {
    const std::lock_guard lock(mutex);
    const auto memory = given.extract(kernel);
    if (!memory.empty())
      for (const void* start : memory.mapped())
        if (coarse[start]) return kInvalidOperation;
  }
  return real().clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, all, group, count, events,
                                       event);
}

void svm_free(ContextHandle context, void* start) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = coarse.find(start); found != coarse.end()) {
      if (found->second) std::abort();  // the CPU still has it
      coarse.erase(found);
    }
  }
  real().clSVMFree(context, start);
}

// The real functions, and those above in place of some.
const Driver& hooked() {
  static const Driver driver = [] {
    Driver made = real();
    made.clGetDeviceInfo = device_info;
    made.clEnqueueSVMMap = map;
    made.clEnqueueSVMUnmap = unmap;
    made.clSetKernelArgSVMPointer = set_pointer;
    made.clEnqueueNDRangeKernel = launch;
    made.clSVMAlloc = svm_alloc;
    made.clSVMFree = svm_free;
    return made;
  }();
  return driver;
}

// What a successful call of this function makes (1) or ends (-1).
int lives(const std::string& function) {
  if (function.rfind("clCreate", 0) == 0 || function == "clSVMAlloc" ||
      function == "clEnqueueMapBuffer" || function == "clEnqueueMarkerWithWaitList")
    return 1;
  if (function.rfind("clRelease", 0) == 0 || function == "clSVMFree" ||
      function == "clEnqueueUnmapMemObject")
    return -1;
  return 0;
}

template <class Result, class... Arguments>
Result pass(const char* name, Result (*function)(Arguments...),
            std::type_identity_t<Arguments>... arguments) {
  if constexpr (std::is_void_v<Result>) {
    function(arguments...);
    const std::lock_guard lock(mutex);
    live += lives(name);
  } else {
    if (const int error = told(name); error != 0) {
      if constexpr (std::is_same_v<Result, int>) {
        return error;
      } else {
        auto last = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
        if constexpr (std::is_same_v<decltype(last), int*>) *last = error;
        return nullptr;
      }
    }
    const Result result = function(arguments...);
    const std::lock_guard lock(mutex);
    if constexpr (std::is_same_v<Result, int>) {
      if (result == kSuccess) live += lives(name);
    } else {
      if (result != nullptr) live += lives(name);
    }
    return result;
  }
}

}  // namespace

// A function of the library: its parameters by their number.
#define FAKE_COUNT(...) FAKE_COUNT_(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define FAKE_COUNT_(a, b, c, d, e, f, g, h, i, j, count, ...) count
#define FAKE_JOIN(a, b) FAKE_JOIN_(a, b)
#define FAKE_JOIN_(a, b) a##b
#define FAKE_TYPED_1(A) A a
#define FAKE_TYPED_2(A, B) A a, B b
#define FAKE_TYPED_3(A, B, C) A a, B b, C c
#define FAKE_TYPED_4(A, B, C, D) A a, B b, C c, D d
#define FAKE_TYPED_5(A, B, C, D, E) A a, B b, C c, D d, E e
#define FAKE_TYPED_6(A, B, C, D, E, F) A a, B b, C c, D d, E e, F f
#define FAKE_TYPED_7(A, B, C, D, E, F, G) A a, B b, C c, D d, E e, F f, G g
#define FAKE_TYPED_8(A, B, C, D, E, F, G, H) A a, B b, C c, D d, E e, F f, G g, H h
#define FAKE_TYPED_9(A, B, C, D, E, F, G, H, I) A a, B b, C c, D d, E e, F f, G g, H h, I i
#define FAKE_TYPED_10(A, B, C, D, E, F, G, H, I, J) A a, B b, C c, D d, E e, F f, G g, H h, I i, J j
#define FAKE_NAMES_1 a
#define FAKE_NAMES_2 a, b
#define FAKE_NAMES_3 a, b, c
#define FAKE_NAMES_4 a, b, c, d
#define FAKE_NAMES_5 a, b, c, d, e
#define FAKE_NAMES_6 a, b, c, d, e, f
#define FAKE_NAMES_7 a, b, c, d, e, f, g
#define FAKE_NAMES_8 a, b, c, d, e, f, g, h
#define FAKE_NAMES_9 a, b, c, d, e, f, g, h, i
#define FAKE_NAMES_10 a, b, c, d, e, f, g, h, i, j
#define FAKE_FUNCTION(result, name, ...)                                                 \
  extern "C" result name(FAKE_JOIN(FAKE_TYPED_, FAKE_COUNT(__VA_ARGS__))(__VA_ARGS__)) { \
    return pass(#name, hooked().name, FAKE_JOIN(FAKE_NAMES_, FAKE_COUNT(__VA_ARGS__)));  \
  }
NEARPEAK_OPENCL_FUNCTIONS(FAKE_FUNCTION)
NEARPEAK_OPENCL_SVM_FUNCTIONS(FAKE_FUNCTION)

// What was made and not ended.
extern "C" int fake_opencl_live() {
  const std::lock_guard lock(mutex);
  return live;
}
