// SPDX-License-Identifier: Apache-2.0
// An application that is not linked with MPI and looks its functions up by the handle of the
// library (argv[1]), as ctypes, numba and Julia do: with that library's names to itself, or for
// all.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void* library = nullptr;
template <typename Function>
Function* found(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define FOUND(name) found<decltype(name)>(#name)
#ifdef OPEN_MPI
#undef MPI_COMM_WORLD
#undef MPI_BYTE
#define MPI_COMM_WORLD (static_cast<MPI_Comm>(dlsym(library, "ompi_mpi_comm_world")))
#define MPI_BYTE (static_cast<MPI_Datatype>(dlsym(library, "ompi_mpi_byte")))
#endif

template <typename... Parameters>
void cuda(const char* name, Parameters... parameters) {
  static void* const driver = dlopen(std::getenv("NEARPEAK_CUDA_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  auto* const function = reinterpret_cast<int (*)(Parameters...)>(dlsym(driver, name));
  if (function(parameters...) != 0) std::exit(7);
}

constexpr std::size_t kBytes = 5000;

}  // namespace

int main(int argc, char** argv) {
  const bool for_all = argc > 2 && std::strcmp(argv[2], "for_all") == 0;
  library = dlopen(argv[1], RTLD_NOW | (for_all ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library == nullptr) return 9;
  // What is no function of MPI's, or is in no library, is answered as ever.
  if (dlsym(library, "MPI_No_such_function") != nullptr) return 8;
  if (dlsym(RTLD_DEFAULT, "malloc") == nullptr || dlsym(RTLD_NEXT, "main") != nullptr) return 8;
  int rank = 0, size = 0;
  FOUND(MPI_Init)(&argc, &argv);
  FOUND(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  FOUND(MPI_Comm_size)(MPI_COMM_WORLD, &size);
  void *context = nullptr, *stream = nullptr, *data = nullptr, *in = nullptr;
  cuda("cuInit", 0U);
  cuda("cuDevicePrimaryCtxRetain", &context, rank % 2);
  cuda("cuCtxSetCurrent", context);
  cuda("cuStreamCreateWithPriority", &stream, 1U, 0);
  cuda("cuMemAlloc_v2", &data, kBytes);
  cuda("cuMemAlloc_v2", &in, kBytes);
  std::vector<char> bytes(kBytes, static_cast<char>(rank + 1));
  cuda("cuMemcpyAsync", data, static_cast<void*>(bytes.data()), kBytes, stream);
  cuda("cuStreamSynchronize", stream);
  const int n = static_cast<int>(kBytes);
  FOUND(MPI_Sendrecv)(data, n, MPI_BYTE, (rank + 1) % size, 1, in, n, MPI_BYTE,
                      (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  cuda("cuMemcpyAsync", static_cast<void*>(bytes.data()), in, kBytes, stream);
  cuda("cuStreamSynchronize", stream);
  std::printf("rank %d got %d\n", rank, bytes.back());
  std::fflush(stdout);
  FOUND(MPI_Finalize)();
  return 0;
}
