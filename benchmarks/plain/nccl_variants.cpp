// SPDX-License-Identifier: Apache-2.0
// Allreduce of floats on two GPUs by NCCL, in every way that nearpeak-native measures it, without
// any of its code. No header of CUDA or NCCL is needed, and no nvcc:
//   g++ -O2 benchmarks/plain/nccl_variants.cpp -o nccl_variants -ldl
//   ./nccl_variants /path/to/libnccl.so.2 8 65536 1048576 16777216
// It prints a line for each way and size: us of one call (median of 11 batches of 200 calls, of
// rank 0), the bus bandwidth as nccl-tests has it, and "wrong" where a sum is wrong. Another driver
// than libcuda.so.1 is named by NEARPEAK_CUDA_LIBRARY.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

struct Id {
  char bytes[128];
};
struct Shared {
  Id id;
  std::atomic<int> come;
};
constexpr int kRanks = 2, kInARow = 20, kBatches = 11, kFloat = 7, kInt8Sum = 0, kSymmetric = 1;

void* cuda;
void* nccl;
// A call by name, that must succeed. Each name is looked up once: not while a call is timed.
template <class... Arguments>
void call(void* library, const char* name, Arguments... arguments) {
  static std::unordered_map<const char*, void*> found;
  auto& symbol = found[name];
  if (symbol == nullptr) symbol = dlsym(library, name);
  const auto function = reinterpret_cast<int (*)(Arguments...)>(symbol);
  const int result = function == nullptr ? -1 : function(arguments...);
  if (result == 0) return;
  std::fprintf(stderr, "%s: %d\n", name, result);
  _exit(1);
}

bool there(const std::string& memory) {
  const char* const needed = memory == "symmetric" ? "ncclCommWindowRegister" : "ncclCommRegister";
  return memory == "plain" || dlsym(nccl, needed) != nullptr;
}

pid_t first;  // the process of rank 0

bool other_has_ended() {
  siginfo_t about{};
  if (getpid() != first) return getppid() != first;
  return waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid != 0;
}

void barrier(Shared* shared, int& round) {
  ++shared->come;
  for (++round; shared->come < round * kRanks; sched_yield())
    if (other_has_ended() && shared->come < round * kRanks) _exit(1);
}

struct Rank {
  int rank;
  Shared* shared;
  int round = 0;
  void* comm = nullptr;
  void* stream = nullptr;

  void allreduce(void* out, void* in, std::size_t count) {
    call(nccl, "ncclAllReduce", static_cast<const void*>(out), in, count, kFloat, kInt8Sum, comm,
         stream);
  }
  void wait() { call(cuda, "cuStreamSynchronize", stream); }

  // One line: `calls` is how they are called, `memory` how the buffers are registered.
  void measure(const std::string& calls, const std::string& memory, std::size_t bytes) {
    const std::size_t whole = (bytes + 4095) / 4096 * 4096, count = bytes / 4;
    void* buffer[2];
    void* handle[2] = {};
    for (int i = 0; i < 2; ++i) {
      if (memory == "plain") {
        call(cuda, "cuMemAlloc_v2", &buffer[i], whole);
        continue;
      }
      call(nccl, "ncclMemAlloc", &buffer[i], whole);
      if (memory == "registered")
        call(nccl, "ncclCommRegister", comm, buffer[i], whole, &handle[i]);
      if (memory == "symmetric")
        call(nccl, "ncclCommWindowRegister", comm, buffer[i], whole, &handle[i], kSymmetric);
    }
    std::vector<float> host(count, static_cast<float>(rank + 1));
    copy(buffer[0], host.data(), bytes);
    allreduce(buffer[0], buffer[1], count);  // connects the ranks
    wait();
    const int each = calls == "alone" ? 1 : kInARow;
    void *graph = nullptr, *ready = nullptr;
    if (calls == "graph") {
      call(cuda, "cuStreamBeginCapture_v2", stream, 1);
      for (int i = 0; i < each; ++i) allreduce(buffer[0], buffer[1], count);
      call(cuda, "cuStreamEndCapture", stream, &graph);
      call(cuda, "cuGraphInstantiateWithFlags", &ready, graph, 0ull);
    }
    std::vector<double> us;
    for (int batch = 0; batch < kBatches; ++batch) {
      std::fill(host.begin(), host.end(), 0.0f);
      copy(buffer[1], host.data(), bytes);
      barrier(shared, round);
      const auto begin = std::chrono::steady_clock::now();
      for (int done = 0; done < 200; done += each) {
        if (calls == "graph") call(cuda, "cuGraphLaunch", ready, stream);
        if (calls == "group") call(nccl, "ncclGroupStart");
        for (int i = 0; i < each && ready == nullptr; ++i) allreduce(buffer[0], buffer[1], count);
        if (calls == "group") call(nccl, "ncclGroupEnd");
        wait();
      }
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - begin;
      us.push_back(took.count() / 200);
    }
    copy(host.data(), buffer[1], bytes);
    const bool right = std::all_of(host.begin(), host.end(), [](float sum) { return sum == 3.0f; });
    std::sort(us.begin(), us.end());
    if (rank == 0)
      std::printf("%-6s %-10s %9zu B %9.2f us %8.2f GB/s%s%s\n", calls.c_str(), memory.c_str(),
                  bytes, us[kBatches / 2], static_cast<double>(bytes) / us[kBatches / 2] / 1e3,
                  right ? "" : "  wrong",
                  memory != "plain" && handle[0] == nullptr ? "  not registered" : "");
    std::fflush(stdout);
    barrier(shared, round);
    if (ready != nullptr) call(cuda, "cuGraphExecDestroy", ready);
    if (graph != nullptr) call(cuda, "cuGraphDestroy", graph);
    for (int i = 0; i < 2; ++i) {
      if (memory == "registered") call(nccl, "ncclCommDeregister", comm, handle[i]);
      if (memory == "symmetric") call(nccl, "ncclCommWindowDeregister", comm, handle[i]);
      call(memory == "plain" ? cuda : nccl, memory == "plain" ? "cuMemFree_v2" : "ncclMemFree",
           buffer[i]);
    }
  }
  void copy(void* to, void* from, std::size_t bytes) {
    call(cuda, "cuMemcpyAsync", to, from, bytes, stream);
    wait();
  }
};

int main(int argc, char** argv) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  first = getpid();
  Rank rank{fork() == 0 ? 1 : 0, static_cast<Shared*>(memory)};
  const char* const driver = std::getenv("NEARPEAK_CUDA_LIBRARY");
  cuda = dlopen(driver == nullptr ? "libcuda.so.1" : driver, RTLD_NOW);
  nccl = argc < 2 ? nullptr : dlopen(argv[1], RTLD_NOW);
  if (cuda == nullptr || nccl == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  void* context = nullptr;
  call(cuda, "cuInit", 0u);
  call(cuda, "cuDevicePrimaryCtxRetain", &context, rank.rank);
  call(cuda, "cuCtxSetCurrent", context);
  call(cuda, "cuStreamCreateWithPriority", &rank.stream, 1u, 0);
  if (rank.rank == 0) call(nccl, "ncclGetUniqueId", &rank.shared->id);
  barrier(rank.shared, rank.round);
  call(nccl, "ncclCommInitRank", &rank.comm, kRanks, rank.shared->id, rank.rank);
  for (int i = 2; i < argc; ++i)
    for (const char* memory_kind : {"plain", "registered", "symmetric"})
      for (const char* calls : {"alone", "in-row", "group", "graph"})
        if (there(memory_kind))
          rank.measure(calls, memory_kind, std::strtoull(argv[i], nullptr, 10));
  call(nccl, "ncclCommDestroy", rank.comm);
  if (rank.rank == 1) _exit(0);
  int status = 0;
  wait(&status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
