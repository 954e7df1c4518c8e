// SPDX-License-Identifier: Apache-2.0
// A CUDA driver that knows one array, for tests/layer/test_queries.py. With FAKE_QUERY_US its
// cuPointerGetAttribute takes so long for any other address.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

extern "C" {

char fake_device_memory[4096];
char fake_reserved_addresses[4096];  // without memory: of no type, and with some attributes
int fake_calls = 0;                  // of cuPointerGetAttribute

static bool is_known(unsigned long long address) {
  const auto begin = reinterpret_cast<std::uintptr_t>(fake_device_memory);
  return address >= begin && address < begin + sizeof fake_device_memory;
}

static void wait_us(double us) {
  timespec begin{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (1e6 * static_cast<double>(now.tv_sec - begin.tv_sec) +
               1e-3 * static_cast<double>(now.tv_nsec - begin.tv_nsec) <
           us);
}

int cuPointerGetAttribute(void* to, int attribute, unsigned long long address) {
  ++fake_calls;
  if (is_known(address)) {
    if (attribute % 5 == 0) return 1;  // has no such attribute
    *static_cast<unsigned*>(to) = 100U + static_cast<unsigned>(attribute);
    return 0;
  }
  const auto reserved = reinterpret_cast<std::uintptr_t>(fake_reserved_addresses);
  if (attribute == 13 && address >= reserved && address < reserved + 4096) {
    *static_cast<unsigned*>(to) = 0;
    return 0;
  }
  static const char* const us = std::getenv("FAKE_QUERY_US");
  if (us != nullptr) wait_us(std::atof(us));
  return address == 0 ? 201 : 1;
}

int cuInit(unsigned) { return 0; }
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = fake_device_memory;
  return std::getenv("FAKE_NO_CONTEXT") == nullptr ? 0 : 2;
}
int cuCtxSetCurrent(void*) { return 0; }

int cuPointerGetAttributes(unsigned count, const int* attributes, void** to,
                           unsigned long long address) {
  for (unsigned i = 0; i < count; ++i)
    *static_cast<unsigned*>(to[i]) =
        is_known(address) ? 100U + static_cast<unsigned>(attributes[i]) : 0;
  return 0;
}

int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                        int* status);

int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t,
                        int* status) {
  *function = nullptr;
  if (std::strcmp(name, "cuPointerGetAttribute") == 0)
    *function = reinterpret_cast<void*>(&cuPointerGetAttribute);
  if (std::strcmp(name, "cuGetProcAddress") == 0)
    *function = version >= 12000 ? reinterpret_cast<void*>(&cuGetProcAddress_v2)
                                 : reinterpret_cast<void*>(&cuGetProcAddress);
  if (status != nullptr) *status = *function == nullptr ? 1 : 0;
  return *function == nullptr ? 500 : 0;
}
}
