// SPDX-License-Identifier: Apache-2.0
// GNU's run time of OpenACC, libgomp, loaded when the program runs. The prototypes and numbers
// follow the OpenACC specification, 3.3, section 3.2, and GCC's manual of libgomp.
#pragma once

#include <cstddef>

namespace nearpeak::openacc {

enum DeviceType { kHost = 2, kNvidia = 5 };

// X(name of the symbol, what it returns, argument types). A queue is a number from 0 on.
#define NEARPEAK_OPENACC_FUNCTIONS(X)                                             \
  X(acc_get_num_devices, int, int)                                                \
  X(acc_set_device_num, void, int, int)                                           \
  X(acc_shutdown, void, int)                                                      \
  X(acc_malloc, void*, std::size_t)                                               \
  X(acc_free, void, void*)                                                        \
  X(acc_memcpy_to_device, void, void*, const void*, std::size_t)                  \
  X(acc_memcpy_from_device, void, void*, const void*, std::size_t)                \
  X(acc_memcpy_to_device_async, void, void*, const void*, std::size_t, int queue) \
  X(acc_wait, void, int queue)                                                    \
  X(acc_wait_async, void, int queue, int waits)                                   \
  X(acc_async_test, int, int queue)

struct Runtime {
#define NEARPEAK_MEMBER(symbol, result, ...) result (*symbol)(__VA_ARGS__) = nullptr;
  NEARPEAK_OPENACC_FUNCTIONS(NEARPEAK_MEMBER)
#undef NEARPEAK_MEMBER
};

// libgomp.so.1, or what the environment's NEARPEAK_OPENACC_LIBRARY names. It finds its plug-in for
// NVIDIA's GPUs, libgomp-plugin-nvptx.so.1, by the loader. Throws BackendUnavailable.
Runtime load_runtime();

}  // namespace nearpeak::openacc
