// SPDX-License-Identifier: Apache-2.0
// Preloaded into a rank: it holds a context on a GPU before main, as an application's that uses it.
//   cc -O2 -shared -fPIC hold_context.c -o hold_context.so -ldl
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int number_of_rank(void) {
  const char* const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK"};
  for (int i = 0; i < 3; ++i)
    if (getenv(names[i])) return atoi(getenv(names[i]));
  return 0;
}

__attribute__((constructor)) static void hold(void) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!driver) return;
  int (*const init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*const count)(int*) = (int (*)(int*))dlsym(driver, "cuDeviceGetCount");
  int (*const retain)(void**, int) = (int (*)(void**, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*const set)(void*) = (int (*)(void*))dlsym(driver, "cuCtxSetCurrent");
  int gpus = 0;
  void* context = NULL;
  if (init(0) || count(&gpus) || gpus == 0 || retain(&context, number_of_rank() % gpus) ||
      set(context)) {
    fprintf(stderr, "hold_context: there is no context\n");
    _Exit(1);
  }
}
