// SPDX-License-Identifier: Apache-2.0
// What looks up a function of MPI by the handle of the library (ctypes, numba, Julia) gets that
// which stands here before the library's, as who is linked with it does. Others get glibc's answer.
#include "calls/lookup.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace nearpeak::calls {
namespace {

std::atomic<Lookup> of_glibc{nullptr};
std::atomic<Lookup> of_next{nullptr};

bool begins_with(const char* name, const char* with) {
  return std::strncmp(name, with, std::strlen(with)) == 0;
}
bool is_of_mpi(const char* name) {
  for (const char* const prefix : {"MPI_", "PMPI_", "MPIX_", "PMPIX_"})
    if (begins_with(name, prefix)) return true;
  return false;
}

// Another tool's, which is preloaded behind this one, has no version.
Lookup next() {
  Lookup found = of_next.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  void* const tool = lookup()(RTLD_NEXT, "dlsym");
  found = tool == nullptr ? lookup() : reinterpret_cast<Lookup>(tool);
  of_next.store(found);
  return found;
}

// Where the file of an address is loaded.
void* base_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) == 0 ? nullptr : found.dli_fbase;
}

bool of_library(const void* function) {
  void* const library = dlopen(NEARPEAK_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const void* const there = lookup()(library, "MPI_Init");
  dlclose(library);
  return there != nullptr && base_of(there) == base_of(function);
}

void* own(const char* name) {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&of_library), &self) == 0) return nullptr;
  void* const library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = lookup()(library, name);
  dlclose(library);
  return found;
}

void* found_in(void* library, const char* name) {
  void* const found = lookup()(library, name);
  if (found == nullptr || !of_library(found)) return found;
  void* const mine = own(name);
  return mine == nullptr ? found : mine;
}

}  // namespace

Lookup lookup() {
  Lookup found = of_glibc.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
    if (found == nullptr) found = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", version));
  if (found == nullptr) std::abort();
  of_glibc.store(found);
  return found;
}

}  // namespace nearpeak::calls

// It must jump and not call: what RTLD_NEXT is depends on who calls.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* library,
                                                              const char* name) noexcept {
  using namespace nearpeak::calls;
  if (library != RTLD_NEXT && library != RTLD_DEFAULT && is_of_mpi(name))
    return found_in(library, name);
  return next()(library, name);
}
