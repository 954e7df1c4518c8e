// SPDX-License-Identifier: Apache-2.0
// Asks the CUDA driver of addresses of each kind of memory, for each attribute, twice: by
// cuPointerGetAttribute as a library finds it, and by the driver's own. Says which answers differ,
// and what each question takes. Behind libnearpeak-queries.so no answer may differ.
//   cc -O2 pointer_answers.c -o pointer_answers -ldl -lpthread
//   LD_PRELOAD=.../libnearpeak-queries.so NEARPEAK_QUERIES_REPORT=1 ./pointer_answers
// Exit status: 0 alike, 1 an answer differs, 2 a call failed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef unsigned long long Address;
typedef int (*Query)(void*, int, Address);
typedef int (*Queries)(unsigned, int*, void**, Address);

enum { kAttributes = 28, kRounds = 4, kBytes = 4 << 20, kTimes = 2000, kAnswer = 64 };
static Query seen, own;
static Queries several;
static int (*runtime)(void*, const void*);
static void *driver, *(*find)(void*, const char*);
static long asked, differing;

#define CALL(name, types, ...)                                                       \
  do {                                                                               \
    int (*function) types = (int (*) types)find(driver, name);                       \
    int status = function ? function(__VA_ARGS__) : -1;                              \
    if (status) fprintf(stderr, "%s failed: %d\n", name, status), exit(2);           \
  } while (0)

static int compare_doubles(const void* a, const void* b) {
  return *(const double*)a < *(const double*)b ? -1 : 1;
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * now.tv_sec + 1e-3 * now.tv_nsec;
}

static double taken_us(int way, Address address) {  // a median of samples of 20 questions
  static double samples[kTimes / 20];
  for (int i = 0; i < kTimes / 20; ++i) {
    const double begin = now_us();
    for (int j = 0; j < 20; ++j) {
      unsigned type = 0, managed = 0, number = 0;
      unsigned long long room[16];
      int attributes[] = {2, 8, 9};
      void* answers[] = {&type, &managed, &number};
      if (way == 0) own(&type, 2, address);
      if (way == 1) seen(&type, 2, address);
      if (way == 2) several(1, attributes, answers, address);
      if (way == 3) several(3, attributes, answers, address);
      if (way == 4) runtime(room, (const void*)address);
    }
    samples[i] = (now_us() - begin) / 20;
  }
  qsort(samples, kTimes / 20, sizeof *samples, compare_doubles);
  return samples[kTimes / 40];
}

static void ask(const char* kind, Address address) {
  for (int round = 0; round < kRounds; ++round)
    for (int attribute = 0; attribute < kAttributes; ++attribute) {
      unsigned char first[kAnswer], second[kAnswer];
      memset(first, 0xa5, kAnswer), memset(second, 0xa5, kAnswer);
      const int by_own = own(first, attribute, address), by_seen = seen(second, attribute, address);
      ++asked;
      if (by_own == by_seen && memcmp(first, second, kAnswer) == 0) continue;
      ++differing;
      printf("DIFFERS %s, attribute %d: %d and %d\n", kind, attribute, by_own, by_seen);
    }
}

static void timed(const char* kind, Address address) {
  printf("%-28s", kind);
  for (int way = 0; way < (runtime ? 5 : 4); ++way) printf(" %8.3f", taken_us(way, address));
  printf("\n");
  ask(kind, address);
}

static void* without_context(void* address) {
  ask("a thread without a context", (Address)address);
  return NULL;
}

static void in_thread(void* address) {
  pthread_t thread;
  pthread_create(&thread, NULL, without_context, address);
  pthread_join(thread, NULL);
}

int main(void) {
  void* const libc = dlopen("libc.so.6", RTLD_NOW);
  find = (void* (*)(void*, const char*))dlvsym(libc, "dlsym", "GLIBC_2.34");
  if (!find) find = (void* (*)(void*, const char*))dlvsym(libc, "dlsym", "GLIBC_2.2.5");
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver || !find) return fprintf(stderr, "no driver\n"), 2;
  own = (Query)find(driver, "cuPointerGetAttribute");
  seen = (Query)dlsym(driver, "cuPointerGetAttribute");
  several = (Queries)find(driver, "cuPointerGetAttributes");
  static char on_data[kBytes];
  char on_stack[4096];
  void* const heap = malloc(kBytes);
  memset(heap, 1, kBytes);
  ask("before cuInit, heap", (Address)heap);
  CALL("cuInit", (unsigned), 0);
  ask("before a context, heap", (Address)heap);
  ask("before a context, null", 0);
  void* context = NULL;
  CALL("cuDevicePrimaryCtxRetain", (void**, int), &context, 0);
  ask("no current context, heap", (Address)heap);
  CALL("cuCtxSetCurrent", (void*), context);
  void* const cudart = dlopen(getenv("CUDART") ? getenv("CUDART") : "libcudart.so.13", RTLD_NOW);
  if (cudart) runtime = (int (*)(void*, const void*))dlsym(cudart, "cudaPointerGetAttributes");

  Address device = 0, managed = 0, pooled = 0, freed = 0, mapped = 0;
  void *pinned = NULL, *freed_pinned = NULL;
  CALL("cuMemAlloc_v2", (Address*, size_t), &device, kBytes);
  CALL("cuMemAllocManaged", (Address*, size_t, unsigned), &managed, kBytes, 1);
  CALL("cuMemHostAlloc", (void**, size_t, unsigned), &pinned, kBytes, 1 | 2);
  CALL("cuMemHostAlloc", (void**, size_t, unsigned), &freed_pinned, kBytes, 1);
  CALL("cuMemAllocAsync", (Address*, size_t, void*), &pooled, kBytes, NULL);
  CALL("cuMemAlloc_v2", (Address*, size_t), &freed, 64 * kBytes);
  CALL("cuMemFree_v2", (Address), freed);
  CALL("cuMemFreeHost", (void*), freed_pinned);
  char* const registered = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CALL("cuMemHostRegister_v2", (void*, size_t, unsigned), registered, kBytes / 2, 0);
  void* const reserved = mmap(NULL, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const shared = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  // Virtual memory: reserved alone, and with memory mapped into the first half.
  struct { int type, handles, place, id; void* windows; unsigned char flags[32]; } wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.type = 1, wanted.place = 1;
  unsigned long long handle = 0;
  struct { int place, id, flags; } access = {1, 0, 3};
  CALL("cuMemAddressReserve", (Address*, size_t, size_t, Address, unsigned long long), &mapped, kBytes, 0, 0, 0);
  CALL("cuMemCreate", (unsigned long long*, size_t, void*, unsigned long long), &handle, kBytes / 2, &wanted, 0);
  CALL("cuMemMap", (Address, size_t, size_t, unsigned long long, unsigned long long), mapped, kBytes / 2, 0, handle, 0);
  CALL("cuMemSetAccess", (Address, size_t, void*, size_t), mapped, kBytes / 2, &access, 1);

  printf("us a question:               own, one  seen, one  plural 1  plural 3%s\n", runtime ? "  runtime" : "");
  timed("heap", (Address)heap);
  timed("stack", (Address)on_stack);
  timed("data", (Address)on_data);
  timed("shared anonymous", (Address)shared);
  timed("reserved by mmap", (Address)reserved);
  timed("null", 0);
  timed("1", 1);
  timed("above all addresses", ~(Address)0 - 4095);
  timed("pinned", (Address)pinned);
  timed("inside pinned", (Address)pinned + 12345);
  timed("registered", (Address)registered);
  timed("behind registered", (Address)registered + kBytes / 2);
  timed("freed pinned", (Address)freed_pinned);
  timed("device", device);
  timed("inside device", device + 12345);
  timed("behind device", device + 64 * kBytes);
  timed("freed device", freed);
  timed("managed", managed);
  timed("pool", pooled);
  timed("virtual, mapped", mapped);
  timed("virtual, reserved alone", mapped + kBytes / 2);
  in_thread(heap), in_thread((void*)device), in_thread(pinned), in_thread(reserved);
  // An address changes its kind: what was refused before is the driver's now, and back.
  for (int i = 0; i < 3; ++i) {
    CALL("cuMemHostUnregister", (void*), registered);
    ask("unregistered", (Address)registered);
    CALL("cuMemHostRegister_v2", (void*, size_t, unsigned), registered, kBytes / 2, 0);
    ask("registered again", (Address)registered);
    Address again = 0;
    CALL("cuMemAlloc_v2", (Address*, size_t), &again, 64 * kBytes);
    ask("allocated again", again);
    ask("where freed memory was", freed);
    CALL("cuMemFree_v2", (Address), again);
    ask("freed again", again);
  }
  CALL("cuDevicePrimaryCtxReset_v2", (int), 0);
  ask("after a reset, heap", (Address)heap);
  ask("after a reset, device", device);
  printf("%ld questions, %ld answers differ\n", asked, differing);
  return differing != 0;
}
