// SPDX-License-Identifier: Apache-2.0
// Finds cuPointerGetAttribute in the way that its first argument says, asks it about every
// attribute of several addresses again and again, and prints each answer; at last, in the driver,
// how many calls came there (tests/layer/test_queries.py).
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using Query = int (*)(void*, int, unsigned long long);
using Find = int (*)(const char*, void**, int, std::uint64_t);
using FindWithStatus = int (*)(const char*, void**, int, std::uint64_t, int*);

#ifdef LINKED
extern "C" int cuPointerGetAttribute(void*, int, unsigned long long);
#endif

static void* checked(void* found, const char* what) {
  if (found == nullptr) {
    std::printf("no %s\n", what);
    std::exit(3);
  }
  return found;
}

static Query found_by(const std::string& way, void* driver) {
#ifdef LINKED
  if (way == "link") return &cuPointerGetAttribute;
#endif
  void* scope = way == "default" ? RTLD_DEFAULT : driver;
  if (way == "versions") {  // a symbol's version, which dlsym cannot name
    void* const found = dlvsym(driver, "cuPointerGetAttribute", "FAKE_1");
    return reinterpret_cast<Query>(checked(found, "cuPointerGetAttribute"));
  }
  if (way.rfind("procaddress", 0) != 0)
    return reinterpret_cast<Query>(
        checked(dlsym(scope, "cuPointerGetAttribute"), "cuPointerGetAttribute"));
  void* found = nullptr;
  if (way == "procaddress-old") {  // without a status
    const auto find =
        reinterpret_cast<Find>(checked(dlsym(driver, "cuGetProcAddress"), "cuGetProcAddress"));
    find("cuPointerGetAttribute", &found, 11000, 0);
    return reinterpret_cast<Query>(checked(found, "cuPointerGetAttribute"));
  }
  auto find = reinterpret_cast<FindWithStatus>(
      checked(dlsym(driver, "cuGetProcAddress_v2"), "cuGetProcAddress_v2"));
  int status = 7;
  if (way == "procaddress-twice") {
    find("cuGetProcAddress", &found, 12000, 0, &status);
    find = reinterpret_cast<FindWithStatus>(checked(found, "cuGetProcAddress"));
    status = 7;
  }
  find("cuPointerGetAttribute", &found, 12000, 0, &status);
  if (status != 0) std::printf("status %d\n", status);
  return reinterpret_cast<Query>(checked(found, "cuPointerGetAttribute"));
}

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  void* const driver = way == "default" ? nullptr : dlopen("libcuda.so.1", RTLD_NOW);
  const Query query = found_by(way, driver);
  void* const all = driver != nullptr ? driver : RTLD_DEFAULT;
  auto* const device = static_cast<char*>(checked(dlsym(all, "fake_device_memory"), "memory"));
  auto* const reserved =
      static_cast<char*>(checked(dlsym(all, "fake_reserved_addresses"), "addresses"));
  char* const freed = static_cast<char*>(std::malloc(1 << 20));
  std::free(freed);
  int here = 0;
  const struct {
    const char* name;
    const void* address;
  } asked[] = {{"stack", &here},       {"device", device}, {"inside", device + 100},
               {"reserved", reserved}, {"freed", freed},   {"null", nullptr}};
  for (int times = 0; times < 30; ++times)
    for (const auto& [name, address] : asked)
      for (int attribute = 0; attribute < 25; ++attribute) {
        unsigned value = 7;
        const int result = query(&value, attribute, reinterpret_cast<std::uintptr_t>(address));
        std::printf("%s %d: %d %u\n", name, attribute, result, value);
      }
  std::fprintf(stderr, "calls %d\n",
               *static_cast<int*>(checked(dlsym(all, "fake_calls"), "calls")));
}
