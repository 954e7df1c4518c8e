// SPDX-License-Identifier: Apache-2.0
// An NVRTC without a GPU: it compiles CUDA source as C++ with the compiler CXX_COMPILER (its
// words), for the fake driver (fake_cuda.cpp) to run on the CPU. What stands for machine code names
// a shared object, which lies beside this library and is compiled once for each source.
//
// A grid of several blocks runs its threads one after the other; a block alone runs up to
// kMostThreads at once, so that they can meet at barriers.
//
// The environment's NEARPEAK_FAKE_NVRTC, "FROM=>TO", puts a defect into kernels: TO in place of
// each FROM in their source.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace fs = std::filesystem;

enum Error { kGood = 0, kInvalidInput = 3, kCompilation = 6 };

constexpr const char* kCodeBegin = "kernels on the CPU: ";  // as in fake_cuda.cpp

// What CUDA C++ has and C++ has not.
constexpr const char* kPrologue = R"cpp(
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#define __device__
#define __global__
  struct uint4 {
    unsigned x, y, z, w;
  };
  struct Dim {
    unsigned x;
  };
  static thread_local Dim gridDim, blockDim, blockIdx, threadIdx;

  namespace fake {

  using Value = unsigned long long;
  constexpr unsigned kMostThreads = 4;

  struct Block {
    pthread_barrier_t barrier;
    int votes[3] = {};
  };
  static thread_local Block* block;  // none where threads run one after the other
  static thread_local unsigned votings;

  static void meet() {
    if (block == nullptr) {
      std::fprintf(stderr, "fake NVRTC: a barrier in a grid of several blocks\n");
      std::abort();
    }
    pthread_barrier_wait(&block->barrier);
  }

  // A kernel that waits for others lets them run: there may be fewer CPUs than threads.
  static Value now_ns() {
    sched_yield();
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return Value(now.tv_sec) * 1000000000 + Value(now.tv_nsec);
  }

  }  // namespace fake

  [[maybe_unused]] static void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
  [[maybe_unused]] static void __syncthreads() { fake::meet(); }
  // Votes are counted in three places in turn: nobody is at the one that is cleared.
  [[maybe_unused]] static int __syncthreads_or(int vote) {
    int* const votes = fake::block != nullptr ? fake::block->votes : &vote;
    const unsigned voting = fake::votings++;
    if (vote != 0) __atomic_store_n(&votes[voting % 3], 1, __ATOMIC_SEQ_CST);
    fake::meet();
    const int any = __atomic_load_n(&votes[voting % 3], __ATOMIC_SEQ_CST);
    __atomic_store_n(&votes[(voting + 2) % 3], 0, __ATOMIC_SEQ_CST);
    return any;
  }
  [[maybe_unused]] static void atomicMin(unsigned long long* least, unsigned long long value) {
    unsigned long long old = __atomic_load_n(least, __ATOMIC_SEQ_CST);
    while (value < old && !__atomic_compare_exchange_n(least, &old, value, false, __ATOMIC_SEQ_CST,
                                                       __ATOMIC_SEQ_CST)) {
    }
  }
)cpp";

// After the source: how the driver starts a kernel.
constexpr const char* kEpilogue = R"cpp(
  namespace fake {

  struct Kernel {  // as in fake_cuda.cpp
    unsigned arguments;
    const bool* pointers;  // which arguments are
    void (*run)(unsigned blocks, unsigned threads, const Value* values);
  };

  template <class... Arguments>
  struct Types {
    static_assert(((sizeof(Arguments) == sizeof(Value)) && ...));
    static constexpr bool kPointers[] = {std::is_pointer_v<Arguments>...};
  };

  template <auto kernel>
  struct Of;
  template <class... Arguments, void (*kernel)(Arguments...)>
  struct Of<kernel> {
    static void call(const Value* values) {
      const Value* next = values;
      const auto each = [&](auto* type) { return (std::remove_pointer_t<decltype(type)>)(*next++); };
      struct Call {
        Call(Arguments... arguments) { kernel(arguments...); }
      } in_order{each((Arguments*)nullptr)...};
    }

    struct Thread {
      Block* block;
      unsigned threads;
      unsigned index;
      const Value* values;
      pthread_t handle;
    };
    static void* run_thread(void* argument) {
      const auto* thread = static_cast<Thread*>(argument);
      block = thread->block;
      votings = 0;
      gridDim.x = 1;
      blockIdx.x = 0;
      blockDim.x = thread->threads;
      threadIdx.x = thread->index;
      call(thread->values);
      block = nullptr;
      return nullptr;
    }

    static void run_block(unsigned threads, const Value* values) {
      Block shared;
      pthread_barrier_init(&shared.barrier, nullptr, threads);
      std::vector<Thread> all(threads);
      for (unsigned i = 0; i < threads; ++i) all[i] = {&shared, threads, i, values, {}};
      for (unsigned i = 1; i < threads; ++i)
        if (pthread_create(&all[i].handle, nullptr, run_thread, &all[i]) != 0) std::abort();
      run_thread(&all[0]);
      for (unsigned i = 1; i < threads; ++i) pthread_join(all[i].handle, nullptr);
      pthread_barrier_destroy(&shared.barrier);
    }

    static void run(unsigned blocks, unsigned threads, const Value* values) {
      if (blocks == 1) return run_block(threads < kMostThreads ? threads : kMostThreads, values);
      gridDim.x = blocks;
      blockDim.x = threads;
      for (blockIdx.x = blocks; blockIdx.x-- > 0;)  // the last first: their order is not to matter
        for (threadIdx.x = threads; threadIdx.x-- > 0;) call(values);
    }

    static constexpr Kernel kKernel{sizeof...(Arguments), Types<Arguments...>::kPointers, run};
  };

  }  // namespace fake
)cpp";

const std::vector<std::string> kCompiler{
    CXX_COMPILER, "-std=c++17", "-O2", "-shared", "-fPIC", "-pthread", "-fvisibility=hidden"};

struct Program {
  std::string source;
  std::string log;
  std::string code;
};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string as_cpp(std::string source) {
  if (const char* defect = std::getenv("NEARPEAK_FAKE_NVRTC")) {
    const std::string text = defect;
    const std::size_t arrow = text.find("=>");
    replace_all(source, text.substr(0, arrow), text.substr(arrow + 2));
  }
  replace_all(source, R"(asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));)",
              "now = fake::now_ns();");
  const std::string begin = "extern \"C\" __global__ void ";
  std::string exported;
  for (std::size_t at = 0; (at = source.find(begin, at)) != source.npos;) {
    at += begin.size();
    const std::string name = source.substr(at, source.find('(', at) - at);
    const std::string object = "const fake::Kernel kernel_" + name;
    exported += "extern \"C\" __attribute__((visibility(\"default\"))) " + object + ";\n" + object +
                " = fake::Of<" + name + ">::kKernel;\n";
  }
  return kPrologue + ("#line 1 \"nearpeak.cu\"\n" + source) + kEpilogue + exported;
}

// FNV-1a.
std::string hash(const std::string& text) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

fs::path own_folder() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&own_folder), &info);
  return fs::absolute(info.dli_fname).parent_path();
}

// The exit status of a program whose output goes to a file, 127 where it cannot be started.
int run_program(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return 127;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Compiles under a name of its own: other processes may be at the same source.
std::string compile(const std::string& text, const fs::path& object) {
  const std::string mine = object.string() + "." + std::to_string(getpid());
  const std::string source = mine + ".cpp";
  const std::string output = mine + ".log";
  std::ofstream(source) << text;
  std::vector<std::string> words = kCompiler;
  words.insert(words.end(), {"-o", mine, source});
  const int status = run_program(words, output);
  std::ifstream file(output);
  std::string log{std::istreambuf_iterator<char>(file), {}};
  std::error_code error;
  if (status == 0) {
    fs::rename(mine, object, error);
    log = error ? error.message() : "";
  } else if (log.empty()) {
    log = words[0] + " cannot be run";
  }
  for (const std::string& name : {mine, source, output}) fs::remove(name, error);
  return log;
}

}  // namespace

EXPORT const char* nvrtcGetErrorString(int error) {
  if (error == kGood) return "NVRTC_SUCCESS";
  if (error == kInvalidInput) return "NVRTC_ERROR_INVALID_INPUT";
  return error == kCompilation ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR unknown";
}

EXPORT int nvrtcCreateProgram(Program** program, const char* source, const char*, int headers,
                              const char* const*, const char* const*) {
  if (headers != 0) return kInvalidInput;
  *program = new Program{source, "", ""};
  return kGood;
}

EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return kGood;
}

EXPORT int nvrtcCompileProgram(Program* program, int, const char* const*) {
  const std::string text = as_cpp(program->source);
  std::string made_of = text;
  for (const std::string& word : kCompiler) made_of += word;
  const fs::path object = own_folder() / ("fake-kernels-" + hash(made_of) + ".so");
  program->log.clear();
  if (!fs::exists(object)) program->log = compile(text, object);
  if (!program->log.empty()) return kCompilation;
  program->code = kCodeBegin + object.string();
  return kGood;
}

// Sizes have the zero at the end.
EXPORT int nvrtcGetProgramLogSize(Program* program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return kGood;
}

EXPORT int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return kGood;
}

EXPORT int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  *bytes = program->code.size() + 1;
  return kGood;
}

EXPORT int nvrtcGetCUBIN(Program* program, char* code) {
  std::memcpy(code, program->code.c_str(), program->code.size() + 1);
  return kGood;
}
