// SPDX-License-Identifier: Apache-2.0
// The names of a CUDA driver, for libraries that want nothing but to be loaded and to watch its
// calls, as the modules of UCX do: there is no device, and every call fails.

// UCX writes a jump over the beginning of a call that it watches.
#define CALL(name) \
  extern "C" __attribute__((visibility("default"), aligned(64))) int name() { return no_device; }

namespace {
constexpr int no_device = 100;  // CUDA_ERROR_NO_DEVICE
}

CALL(cuInit)
CALL(cuGetErrorString)
CALL(cuDeviceGetCount)
CALL(cuMemGetAddressRange_v2)
CALL(cuMemAlloc_v2)
CALL(cuMemAllocManaged)
CALL(cuMemAllocPitch_v2)
CALL(cuMemFree_v2)
CALL(cuMemFreeHost)
