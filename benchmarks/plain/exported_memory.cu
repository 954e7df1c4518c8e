// SPDX-License-Identifier: Apache-2.0
// Which memory can a process hand to another one as a file descriptor? No MPI, and nothing of bench/.
// A child takes the descriptor by pidfd_getfd or from a socket, maps the memory and counts wrong
// bytes. The last lines are the times of the driver's calls.
//
//     nvcc -O2 -arch=sm_90 exported_memory.cu -o exported_memory -lcuda && ./exported_memory
#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <vector>

using Byte = unsigned char;

constexpr size_t kChunks = 3;

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

void open_device() {
  CUdevice device;
  CUcontext context;
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
}

CUmemAllocationProp properties(CUmemAllocationHandleType type) {
  CUmemAllocationProp made{};
  made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  made.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  made.requestedHandleTypes = type;
  return made;
}

CUmemAccessDesc access_to_device() {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

Byte value(size_t i) { return Byte(i * 7 + i / 4096); }

struct Offer {  // from parent to child
  int pid = 0;
  int fd[kChunks] = {};
  int count = 0;
  size_t chunk = 0;
  bool pool = false;
  CUmemPoolPtrExportData pointer{};
};

double us(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

// A message of one byte, with room for a descriptor.
struct FdMessage {
  char byte = 0;
  char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&byte, 1};
  msghdr header{};

  FdMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
};

void send_fd(int socket, int fd) {
  FdMessage message;
  cmsghdr* head = CMSG_FIRSTHDR(&message.header);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(head), &fd, sizeof(int));
  if (sendmsg(socket, &message.header, 0) < 0) perror("sendmsg");
}

int receive_fd(int socket) {
  FdMessage message;
  int fd = -1;
  if (recvmsg(socket, &message.header, 0) < 0) return -1;
  if (cmsghdr* head = CMSG_FIRSTHDR(&message.header)) memcpy(&fd, CMSG_DATA(head), sizeof(int));
  return fd;
}

void read_it(CUdeviceptr at, size_t bytes, const char* by) {
  std::vector<Byte> host(bytes);
  OK(cuMemcpyDtoH(host.data(), at, bytes));
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += host[i] != value(i);
  printf("    read in another process, by %s: %zu of %zu bytes wrong\n", by, wrong, bytes);
}

// The child: serves offers until the socket is closed.
int child(int socket) {
  open_device();
  Offer offer;
  while (read(socket, &offer, sizeof(offer)) == ssize_t(sizeof(offer))) {
    int sent[kChunks];
    for (int i = 0; i < offer.count; ++i) sent[i] = receive_fd(socket);
    for (const bool by_pid : {true, false}) {
      int fds[kChunks];
      const int pidfd = int(syscall(SYS_pidfd_open, offer.pid, 0));
      bool have = true;
      for (int i = 0; i < offer.count; ++i) {
        fds[i] = by_pid ? int(syscall(SYS_pidfd_getfd, pidfd, offer.fd[i], 0)) : sent[i];
        have = have && fds[i] >= 0;
      }
      const char* by = by_pid ? "pidfd_getfd" : "a socket";
      if (!have) {
        perror("    pidfd_getfd");
        continue;
      }
      if (offer.pool) {
        CUmemoryPool pool;
        CUdeviceptr at;
        const CUresult taken = cuMemPoolImportFromShareableHandle(
            &pool, (void*)(intptr_t)fds[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        if (taken != CUDA_SUCCESS) {
          printf("    cuMemPoolImportFromShareableHandle: %s\n", name(taken));
          continue;
        }
        const CUmemAccessDesc access = access_to_device();
        cuMemPoolSetAccess(pool, &access, 1);
        OK(cuMemPoolImportPointer(&at, pool, &offer.pointer));
        read_it(at, offer.chunk, by);
        OK(cuMemFree(at));
        OK(cuMemPoolDestroy(pool));
      } else {
        CUdeviceptr at;
        const size_t bytes = offer.chunk * offer.count;
        const auto begin = std::chrono::steady_clock::now();
        OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
        CUmemGenericAllocationHandle handles[kChunks];
        for (int i = 0; i < offer.count; ++i) {
          OK(cuMemImportFromShareableHandle(&handles[i], (void*)(intptr_t)fds[i],
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
          OK(cuMemMap(at + i * offer.chunk, offer.chunk, 0, handles[i], 0));
        }
        const CUmemAccessDesc access = access_to_device();
        OK(cuMemSetAccess(at, bytes, &access, 1));
        printf("    reserve, import, map, set access for %d chunks: %.0f us\n", offer.count,
               us(begin));
        read_it(at, bytes, by);
        OK(cuMemUnmap(at, bytes));
        for (int i = 0; i < offer.count; ++i) OK(cuMemRelease(handles[i]));
        OK(cuMemAddressFree(at, bytes));
      }
      for (int i = 0; i < offer.count; ++i)
        if (by_pid) close(fds[i]);
      close(pidfd);
    }
    for (int i = 0; i < offer.count; ++i) close(sent[i]);
    fflush(stdout);
    if (write(socket, "x", 1) != 1) return 1;
  }
  return 0;
}

void fill(CUdeviceptr at, size_t bytes) {
  std::vector<Byte> host(bytes);
  for (size_t i = 0; i < bytes; ++i) host[i] = value(i);
  OK(cuMemcpyHtoD(at, host.data(), bytes));
}

void hand_over(int socket, Offer offer) {
  offer.pid = getpid();
  fflush(stdout);
  if (write(socket, &offer, sizeof(offer)) != ssize_t(sizeof(offer))) perror("write");
  for (int i = 0; i < offer.count; ++i) send_fd(socket, offer.fd[i]);
  char done;
  if (read(socket, &done, 1) != 1) puts("    the child has ended");
}

// Chunks of one range, as PyTorch's expandable segments have them; also by the address alone.
void chunks(int socket, CUmemAllocationHandleType type, const char* what) {
  printf("%s\n", what);
  const CUmemAllocationProp made = properties(type);
  Offer offer;
  OK(cuMemGetAllocationGranularity(&offer.chunk, &made, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  offer.count = kChunks;
  const size_t bytes = offer.chunk * kChunks;
  CUdeviceptr at;
  OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
  CUmemGenericAllocationHandle handles[kChunks];
  for (size_t i = 0; i < kChunks; ++i) {
    const CUresult result = cuMemCreate(&handles[i], offer.chunk, &made, 0);
    if (result != CUDA_SUCCESS) {
      printf("    cuMemCreate: %s\n", name(result));
      return;
    }
    OK(cuMemMap(at + i * offer.chunk, offer.chunk, 0, handles[i], 0));
  }
  const CUmemAccessDesc access = access_to_device();
  OK(cuMemSetAccess(at, bytes, &access, 1));
  for (size_t i = 0; i < kChunks; ++i) OK(cuMemRelease(handles[i]));  // by address from here on
  fill(at, bytes);
  CUipcMemHandle legacy;
  printf("    cuIpcGetMemHandle: %s\n", name(cuIpcGetMemHandle(&legacy, at)));
  CUdeviceptr base;
  size_t size;
  OK(cuMemGetAddressRange(&base, &size, at + offer.chunk + 1));
  printf("    cuMemGetAddressRange inside the second chunk: offset %lld, %zu of %zu bytes\n",
         (long long)(base - at), size, bytes);
  bool exported = true;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kChunks; ++i) {
    CUmemGenericAllocationHandle handle;
    OK(cuMemRetainAllocationHandle(&handle, (void*)(at + i * offer.chunk + 5)));
    CUmemAllocationProp seen{};
    OK(cuMemGetAllocationPropertiesFromHandle(&seen, handle));
    const CUresult result = cuMemExportToShareableHandle(
        &offer.fd[i], handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (i == 0)
      printf("    handle types asked for at creation: %d; export: %s\n",
             int(seen.requestedHandleTypes), name(result));
    exported = exported && result == CUDA_SUCCESS;
    OK(cuMemRelease(handle));
  }
  printf("    retain, properties, export of %zu chunks: %.0f us\n", kChunks, us(begin));
  if (exported) hand_over(socket, offer);
}

// Memory of cudaMallocAsync: the default pool, or one that can be exported.
void pool(int socket, bool own) {
  puts(own ? "a pool made for file descriptors" : "the default pool of cudaMallocAsync");
  CUmemoryPool memory;
  if (own) {
    CUmemPoolProps made{};
    made.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    made.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    made.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    OK(cuMemPoolCreate(&memory, &made));
  } else {
    OK(cuDeviceGetDefaultMemPool(&memory, 0));
  }
  Offer offer;
  offer.pool = true;
  offer.count = 1;
  offer.chunk = 1 << 20;
  CUdeviceptr at;
  OK(cuMemAllocFromPoolAsync(&at, offer.chunk, memory, nullptr));
  OK(cuStreamSynchronize(nullptr));
  fill(at, offer.chunk);
  CUmemoryPool seen;
  OK(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
  CUipcMemHandle legacy;
  printf("    its pool by its pointer: %s; cuIpcGetMemHandle: %s\n",
         seen == memory ? "right" : "wrong", name(cuIpcGetMemHandle(&legacy, at)));
  CUmemGenericAllocationHandle handle;
  const CUresult retained = cuMemRetainAllocationHandle(&handle, (void*)at);
  printf("    cuMemRetainAllocationHandle: %s\n", name(retained));
  const CUresult result = cuMemPoolExportToShareableHandle(
      &offer.fd[0], seen, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  const CUresult pointer = cuMemPoolExportPointer(&offer.pointer, at);
  printf("    export of the pool: %s, of the pointer: %s\n", name(result), name(pointer));
  if (result == CUDA_SUCCESS && pointer == CUDA_SUCCESS) hand_over(socket, offer);
}

int main() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    return child(ends[1]);
  }
  close(ends[1]);
  prctl(PR_SET_PTRACER, pid, 0, 0, 0);
  open_device();
  int version = 0, fds = 0, fabric = 0;
  OK(cuDriverGetVersion(&version));
  OK(cuDeviceGetAttribute(
      &fds, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
  OK(cuDeviceGetAttribute(&fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
  printf("driver for CUDA %d; handles: file descriptors %d, fabric %d\n", version, fds, fabric);
  chunks(ends[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, "chunks made for file descriptors");
  chunks(ends[0], CU_MEM_HANDLE_TYPE_NONE, "chunks made without a handle type");
  chunks(ends[0], CU_MEM_HANDLE_TYPE_FABRIC, "chunks made for fabric handles");
  pool(ends[0], false);
  pool(ends[0], true);
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return status != 0;
}
