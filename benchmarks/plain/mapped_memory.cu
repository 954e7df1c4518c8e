// SPDX-License-Identifier: Apache-2.0
// What does the driver tell of memory that a process maps in chunks by itself, and what do its calls
// cost? No MPI, and nothing of bench/.
//
//     nvcc -O2 -arch=sm_90 mapped_memory.cu -o mapped_memory -lcuda && ./mapped_memory
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>

constexpr size_t kChunk = size_t(20) << 20;  // as PyTorch's expandable segments have them

const char* name(CUresult result) {
  const char* text = "?";
  cuGetErrorName(result, &text);
  return text;
}

#define OK(call)                                        \
  do {                                                  \
    const CUresult result = (call);                     \
    if (result != CUDA_SUCCESS) {                       \
      printf("%s: %s\n", #call, name(result));          \
      exit(1);                                          \
    }                                                   \
  } while (0)

CUmemAllocationProp properties(CUmemAllocationHandleType type) {
  CUmemAllocationProp made{};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  made.requestedHandleTypes = type;
  return made;
}

CUmemGenericAllocationHandle create(
    CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
  const CUmemAllocationProp made = properties(type);
  CUmemGenericAllocationHandle chunk;
  OK(cuMemCreate(&chunk, kChunk, &made, 0));
  return chunk;
}

void give_access(CUdeviceptr at) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(cuMemSetAccess(at, kChunk, &access, 1));
}

void map(CUdeviceptr at, CUmemGenericAllocationHandle chunk) {
  OK(cuMemMap(at, kChunk, 0, chunk, 0));
  give_access(at);
}

// A line with what the driver tells of an address.
void tell(const char* what, CUdeviceptr at) {
  unsigned long long id = 0, types = 0;
  size_t range = 0, mapping = 0, bytes = 0;
  CUdeviceptr begin = 0, first = 0, base = 0;
  CUcontext context = nullptr;
  int legacy = -1;
  const CUresult known = cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at);
  if (known != CUDA_SUCCESS) {
    printf("%s: buffer id %s\n", what, name(known));
    return;
  }
  cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at);
  cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at);
  cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at);
  cuPointerGetAttribute(&mapping, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at);
  cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at);
  cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at);
  cuPointerGetAttribute(&legacy, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at);
  cuMemGetAddressRange(&base, &bytes, at);
  CUmemGenericAllocationHandle chunk;
  const CUresult retained = cuMemRetainAllocationHandle(&chunk, (void*)at);
  if (retained == CUDA_SUCCESS) OK(cuMemRelease(chunk));
  printf("%s: buffer id %llu\n", what, id);
  printf("    range %zu KiB before it of %zu, mapping %zu of %zu, cuMemGetAddressRange %zu of %zu\n",
         size_t(at - begin) >> 10, range >> 10, size_t(at - first) >> 10, mapping >> 10,
         size_t(at - base) >> 10, bytes >> 10);
  printf("    context %s, legacy handle %d, handle types %llu, cuMemRetainAllocationHandle %s\n",
         context == nullptr ? "null" : "set", legacy, types, name(retained));
}

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

template <typename Call>
double us(const Call& call, int times = 1) {
  const auto begin = Clock::now();
  for (int i = 0; i < times; ++i) call();
  return us_since(begin) / times;
}

long free_mib() {
  size_t free = 0, all = 0;
  OK(cuMemGetInfo(&free, &all));
  return long(free >> 20);
}

void told() {
  CUdeviceptr at;
  OK(cuMemAddressReserve(&at, 8 * kChunk, 0, 0, 0));
  CUmemGenericAllocationHandle chunks[3];
  for (int i = 0; i < 3; ++i) map(at + i * kChunk, chunks[i] = create());
  tell("the second of three chunks", at + kChunk + 4096);
  map(at + 4 * kChunk, chunks[1]);
  tell("the same chunk at a second address", at + 4 * kChunk);
  OK(cuMemUnmap(at + kChunk, kChunk));
  tell("unmapped", at + kChunk);
  map(at + kChunk, chunks[1]);
  tell("mapped again", at + kChunk);
  OK(cuMemUnmap(at + kChunk, kChunk));
  map(at + kChunk, create());
  tell("another chunk there", at + kChunk);
  map(at + 5 * kChunk, create(CU_MEM_HANDLE_TYPE_NONE));
  tell("a chunk without a handle type", at + 5 * kChunk);
  int file = -1;
  CUmemGenericAllocationHandle taken;
  OK(cuMemExportToShareableHandle(&file, chunks[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK(cuMemImportFromShareableHandle(&taken, (void*)(intptr_t)file,
                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  map(at + 6 * kChunk, taken);
  tell("an imported chunk", at + 6 * kChunk);
  CUdeviceptr other;
  OK(cuMemAllocAsync(&other, 1 << 20, nullptr));
  OK(cuStreamSynchronize(nullptr));
  tell("the default pool of cudaMallocAsync", other);
  OK(cuMemFreeAsync(other, nullptr));
  OK(cuStreamSynchronize(nullptr));
  OK(cuMemAllocAsync(&other, 1 << 20, nullptr));
  OK(cuStreamSynchronize(nullptr));
  tell("the same, freed and allocated again", other);
  OK(cuMemAlloc(&other, 1 << 20));
  tell("cuMemAlloc", other);
}

void costs() {
  constexpr int kTimes = 10000;
  CUdeviceptr at, base;
  size_t bytes = 0;
  unsigned long long id = 0;
  CUmemGenericAllocationHandle chunk = create(), same;
  OK(cuMemAddressReserve(&at, kChunk, 0, 0, 0));
  map(at, chunk);
  printf("us of a call:\n");
  printf("    buffer id %.3f\n",
         us([&] { cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at); }, kTimes));
  printf("    cuMemGetAddressRange %.3f\n",
         us([&] { cuMemGetAddressRange(&base, &bytes, at); }, kTimes));
  const double retain = us(
      [&] {
        cuMemRetainAllocationHandle(&same, (void*)at);
        cuMemRelease(same);
      },
      kTimes);
  printf("    retain and release %.3f\n", retain);
  for (int i = 0; i < 3; ++i) {
    int file = -1;
    CUdeviceptr there;
    const double exported = us([&] {
      OK(cuMemExportToShareableHandle(&file, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    });
    const double imported = us([&] {
      OK(cuMemImportFromShareableHandle(&same, (void*)(intptr_t)file,
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    });
    const double reserve = us([&] { OK(cuMemAddressReserve(&there, kChunk, 0, 0, 0)); });
    const double mapped = us([&] { OK(cuMemMap(there, kChunk, 0, same, 0)); });
    const double access = us([&] { give_access(there); });
    const double unmap = us([&] { OK(cuMemUnmap(there, kChunk)); });
    const double addresses = us([&] { OK(cuMemAddressFree(there, kChunk)); });
    const double release = us([&] { OK(cuMemRelease(same)); });
    close(file);
    printf("    export %.0f, import %.0f, reserve %.0f, map %.0f, set access %.0f, unmap %.0f,"
           " free addresses %.0f, release %.0f\n",
           exported, imported, reserve, mapped, access, unmap, addresses, release);
  }
  const double most = us([&] { OK(cuMemAddressReserve(&at, size_t(1) << 44, 0, 0, 0)); });
  printf("    reserve 16 TiB %.0f\n", most);
}

void kept_by_a_file() {
  CUdeviceptr at;
  CUmemGenericAllocationHandle chunk = create();
  int file = -1;
  OK(cuMemAddressReserve(&at, kChunk, 0, 0, 0));
  map(at, chunk);
  OK(cuMemExportToShareableHandle(&file, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  const long before = free_mib();
  OK(cuMemUnmap(at, kChunk));
  OK(cuMemRelease(chunk));
  const long released = free_mib();
  close(file);
  printf("MiB free again: %ld when it is unmapped and released, %ld when its file is closed\n",
         released - before, free_mib() - before);
}

int main() {
  CUdevice device;
  CUcontext context;
  int version = 0;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuDriverGetVersion(&version));
  printf("driver for CUDA %d\n", version);
  told();
  costs();
  kept_by_a_file();
}
