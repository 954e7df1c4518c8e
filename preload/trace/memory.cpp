// SPDX-License-Identifier: Apache-2.0
#include "trace/memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>

namespace nearpeak::trace {
namespace {

// Of one attribute, as cuPointerGetAttribute takes 1 us with driver 580
// (docs/how-to/pointer-queries.md).
using Question = int (*)(unsigned count, const int* attributes, void** answers,
                         std::uint64_t address);
constexpr int kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kHost = 1;        // CU_MEMORYTYPE_HOST

std::atomic<Question> driver{nullptr};
std::atomic<std::uint64_t> looked{0};
std::atomic<std::uint64_t> loaded{0};  // libraries, until then

int count_loaded(dl_phdr_info* info, std::size_t, void* answer) {
  *static_cast<std::uint64_t*>(answer) = info->dlpi_adds;
  return 1;  // every entry says the same
}

// A process may load its driver at any time. To look for it takes some ten microseconds, as the
// loader searches its folders; whether anything was loaded since then a hundred nanoseconds.
void look(std::uint64_t now) {
  looked.store(now, std::memory_order_relaxed);
  std::uint64_t loads = 0;
  dl_iterate_phdr(count_loaded, &loads);
  if (loaded.exchange(loads, std::memory_order_relaxed) == loads) return;
  void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  driver.store(reinterpret_cast<Question>(dlsym(library, "cuPointerGetAttributes")));
}

}  // namespace

bool on_device(const void* data, std::uint64_t now) {
  constexpr std::uint64_t kTicksBetween = 10'000'000;  // 3 to 10 ms
  Question ask = driver.load(std::memory_order_relaxed);
  if (ask == nullptr) {
    if (now - looked.load(std::memory_order_relaxed) < kTicksBetween) return false;
    look(now);
    if ((ask = driver.load()) == nullptr) return false;
  }
  unsigned type = 0;  // as is said of an address that the driver does not know
  void* answer = &type;
  return ask(1, &kMemoryType, &answer, reinterpret_cast<std::uint64_t>(data)) == 0 && type != 0 &&
         type != kHost;
}

}  // namespace nearpeak::trace
