// SPDX-License-Identifier: Apache-2.0
// libgomp with its plug-in for NVIDIA's GPUs, without a GPU: memory of the fake CUDA driver that
// NEARPEAK_CUDA_LIBRARY names. As the real one it shares the context that is current when a device
// is taken; where there is none the real one makes its own, whose memory no MPI library would find
// in the primary context, and this one ends the program. Copies and queues are not used on GPUs.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNvidia = 5;

template <class Function>
Function* cuda(const char* symbol) {
  void* const library = dlopen(std::getenv("NEARPEAK_CUDA_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, symbol);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

int taken = 0;
thread_local int device = -1;

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "fake libgomp: %s\n", what);
  std::abort();
}

}  // namespace

// How often devices were taken and not given back.
EXPORT int fake_gomp_taken() { return taken; }

EXPORT int acc_get_num_devices(int type) {
  int count = 0;
  if (type != kNvidia || cuda<int(int*)>("cuDeviceGetCount")(&count) != 0) return 0;
  return count;
}

EXPORT void acc_set_device_num(int index, int type) {
  int current = -1;
  if (type != kNvidia) refuse("not a GPU");
  if (cuda<int(int*)>("cuCtxGetDevice")(&current) != 0 || current != index)
    refuse("the context of another device is current, or none");
  device = index;
  taken = 1;
}

EXPORT void acc_shutdown(int) {
  if (taken == 0) refuse("no device initialized");
  taken = 0;
}

EXPORT void* acc_malloc(std::size_t bytes) {
  void* memory = nullptr;
  if (device < 0) refuse("acc_malloc without a device");
  return cuda<int(void**, std::size_t)>("cuMemAlloc_v2")(&memory, bytes) == 0 ? memory : nullptr;
}

EXPORT void acc_free(void* memory) {
  if (cuda<int(void*)>("cuMemFree_v2")(memory) != 0) refuse("acc_free of what is no memory");
}

EXPORT void acc_memcpy_to_device(void*, const void*, std::size_t) { refuse("a copy"); }
EXPORT void acc_memcpy_from_device(void*, const void*, std::size_t) { refuse("a copy"); }
EXPORT void acc_memcpy_to_device_async(void*, const void*, std::size_t, int) { refuse("a copy"); }
EXPORT void acc_wait(int) { refuse("a queue"); }
EXPORT void acc_wait_async(int, int) { refuse("a queue"); }
EXPORT int acc_async_test(int) { refuse("a queue"); }
