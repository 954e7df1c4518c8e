// SPDX-License-Identifier: Apache-2.0
// An NVRTC without a GPU: it compiles CUDA source as C++ with the compiler CXX_COMPILER (its
// words), for the fake driver (fake_cuda.cpp) to run on the CPU. What stands for machine code names
// a shared object, which lies beside this library and is compiled once for each source.
//
// A KERNEL or a WIDE_KERNEL runs its threads one after the other. A WAITING_KERNEL runs all of them
// at once, up to kMostThreads of each block, so that they can wait for each other and for others. A
// warp is one thread.
//
// The environment's NEARPEAK_FAKE_NVRTC, "FROM=>TO", puts a defect into kernels: TO in place of
// each FROM in their source. NEARPEAK_FAKE_NVRTC_ENDS=1: what it has for its work ends with the
// program, as NVRTC's has been seen to do, and who compiles then dies.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace fs = std::filesystem;

enum Error { kGood = 0, kInvalidInput = 3, kCompilation = 6 };

constexpr const char* kCodeBegin = "kernels on the CPU: ";  // as in fake_cuda.cpp

// The prelude (accel/cuda/prelude.cpp) for threads on CPUs, and what is built in. With containers
// of C++ a kernel would take six times as long to compile.
constexpr const char* kPrologue = R"cpp(
#define NEARPEAK_PRELUDE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <type_traits>

  typedef unsigned char u8;
  typedef unsigned int u32;
  typedef unsigned long long u64;

#define __global__
#define DEVICE inline
#define KERNEL void
#define WIDE_KERNEL void
#define WAITING_KERNEL void
#define OF_BLOCK(type, name) type& name = *static_cast<type*>(fake::memory_of_block(sizeof(type)))

  struct Dim {
    unsigned x;
  };
  static thread_local Dim gridDim, blockDim, blockIdx, threadIdx;

  namespace fake {

  constexpr unsigned kMostThreads = 4;
  constexpr size_t kBlockMemory = 48 << 10;

  struct Block {
    pthread_barrier_t barrier;
    int votes[3] = {};
    alignas(16) char memory[kBlockMemory];
  };
  static thread_local Block* block;  // none where threads run one after the other
  static thread_local unsigned votings;
  static thread_local size_t memory_used;
  static thread_local unsigned breaths;  // since it has put something

  [[noreturn]] inline void refuse(const char* what) {
    fprintf(stderr, "fake NVRTC: %s\n", what);
    abort();
  }

  inline void meet() {
    if (block == nullptr) refuse("a barrier in a kernel that is no WAITING_KERNEL");
    pthread_barrier_wait(&block->barrier);
  }

  inline void* memory_of_block(size_t bytes) {
    if (block == nullptr) refuse("memory of a block in a kernel that is no WAITING_KERNEL");
    void* const here = block->memory + memory_used;
    memory_used += (bytes + 15) / 16 * 16;
    if (memory_used > kBlockMemory) refuse("a block with more memory than GPUs have");
    return here;
  }

  }  // namespace fake

  template <class T>
  T look(const T* at) {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
  }
  template <class T>
  void put(T* at, std::type_identity_t<T> value) {
    fake::breaths = 0;
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
  }
  // The halves as CPUs write them: who sees a new second half sees the first.
  struct alignas(16) Quad {
    u32 x, y, z, w;
  };
  inline Quad quad(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }
  inline Quad look(const Quad* at) {
    const u64* const halves = (const u64*)at;
    const u64 high = look(halves + 1);
    const u64 low = look(halves);
    return {(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)};
  }
  inline void put(Quad* at, Quad value) {
    u64* const halves = (u64*)at;
    put(halves, (u64)value.y << 32 | value.x);
    put(halves + 1, (u64)value.w << 32 | value.z);
  }
  inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
  inline void smallest(u64* least, u64 value) {
    u64 old = __atomic_load_n(least, __ATOMIC_SEQ_CST);
    while (value < old && !__atomic_compare_exchange_n(least, &old, value, false, __ATOMIC_SEQ_CST,
                                                       __ATOMIC_SEQ_CST)) {
    }
  }
  inline u64 now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
  }
  inline u32 unforeseen(u32 value) { return value; }
  // Who has waited for long leaves its CPU to those that it waits for.
  inline void breathe() {
    if (++fake::breaths < 1000)
      sched_yield();
    else
      usleep(50);
  }

  constexpr u32 kWarp = 1;
  typedef u32 Lanes;
  inline Lanes lanes_where(bool here) { return here ? 1 : 0; }
  template <class T>
  T of_lane(T value, u32) {
    return value;
  }
  inline void warp_meets() {}
  inline u32 count_of(Lanes lanes) { return lanes; }
  inline u32 first_of(Lanes) { return 0; }
  inline u32 leading(Lanes lanes) { return lanes; }
  inline u32 count_before(Lanes, u32) { return 0; }

  inline void block_meets() { fake::meet(); }
  // Of a KERNEL, whose threads cannot meet: the last of a block is the first to run.
#define PARTS_OF_SUM(name) double* const name = nullptr
  inline void put_sum_of_block(double* sum, double*, double mine) {
    *sum = (threadIdx.x + 1 == blockDim.x ? 0 : *sum) + mine;
  }
  // Votes are counted in three places in turn: nobody is at the one that is cleared.
  inline bool any_in_block(bool here) {
    if (fake::block == nullptr) fake::meet();
    int* const votes = fake::block->votes;
    const unsigned voting = fake::votings++;
    if (here) __atomic_store_n(&votes[voting % 3], 1, __ATOMIC_SEQ_CST);
    fake::meet();
    const int any = __atomic_load_n(&votes[voting % 3], __ATOMIC_SEQ_CST);
    __atomic_store_n(&votes[(voting + 2) % 3], 0, __ATOMIC_SEQ_CST);
    return any != 0;
  }
)cpp";

// After the source: how the driver starts a kernel.
constexpr const char* kEpilogue = R"cpp(
  namespace fake {

  struct Kernel {  // as in fake_cuda.cpp
    unsigned arguments;
    unsigned threads;  // that a block of it may have
    bool waits;
    const bool* pointers;   // which arguments are
    const unsigned* words;  // of 64 bits, that each has
    void (*run)(unsigned blocks, unsigned threads, const u64* values);
  };

  template <class... Arguments>
  struct Types {
    static_assert(((sizeof(Arguments) % sizeof(u64) == 0) && ...));
    static constexpr bool kPointers[] = {std::is_pointer_v<Arguments>...};
    static constexpr unsigned kWords[] = {sizeof(Arguments) / sizeof(u64)...};
  };

  template <auto kernel>
  struct Of;
  template <class... Arguments, void (*kernel)(Arguments...)>
  struct Of<kernel> {
    static void call(const u64* values) {
      const u64* next = values;
      const auto each = [&](auto* type) {
        std::remove_pointer_t<decltype(type)> argument;
        memcpy(&argument, next, sizeof(argument));
        next += sizeof(argument) / sizeof(u64);
        return argument;
      };
      struct Call {
        Call(Arguments... arguments) { kernel(arguments...); }
      } in_order{each((Arguments*)nullptr)...};
    }

    struct Thread {
      Block* block;
      unsigned blocks, threads;
      unsigned in_grid, in_block;
      const u64* values;
      pthread_t handle;
    };
    static void* run_thread(void* argument) {
      const auto* thread = static_cast<Thread*>(argument);
      block = thread->block;
      votings = 0;
      memory_used = 0;
      gridDim.x = thread->blocks;
      blockIdx.x = thread->in_grid;
      blockDim.x = thread->threads;
      threadIdx.x = thread->in_block;
      call(thread->values);
      block = nullptr;
      return nullptr;
    }

    static void run_at_once(unsigned blocks, unsigned threads, const u64* values) {
      if (threads > kMostThreads) threads = kMostThreads;
      const unsigned count = blocks * threads;
      Block* const of_blocks = new Block[blocks];
      Thread* const all = new Thread[count];
      for (unsigned i = 0; i < blocks; ++i)
        pthread_barrier_init(&of_blocks[i].barrier, nullptr, threads);
      for (unsigned i = 0; i < count; ++i) {
        all[i] = {&of_blocks[i / threads], blocks, threads, i / threads, i % threads, values, {}};
        if (i > 0 && pthread_create(&all[i].handle, nullptr, run_thread, &all[i]) != 0) abort();
      }
      run_thread(&all[0]);
      for (unsigned i = 1; i < count; ++i) pthread_join(all[i].handle, nullptr);
      for (unsigned i = 0; i < blocks; ++i) pthread_barrier_destroy(&of_blocks[i].barrier);
      delete[] all;
      delete[] of_blocks;
    }

    static void run_in_turn(unsigned blocks, unsigned threads, const u64* values) {
      gridDim.x = blocks;
      blockDim.x = threads;
      for (blockIdx.x = blocks; blockIdx.x-- > 0;)  // the last first: their order is not to matter
        for (threadIdx.x = threads; threadIdx.x-- > 0;) call(values);
    }

    using All = Types<Arguments...>;
    static constexpr Kernel in_turn{sizeof...(Arguments), 256,         false,
                                    All::kPointers,       All::kWords, run_in_turn};
    static constexpr Kernel wide{sizeof...(Arguments), 512,         false,
                                 All::kPointers,       All::kWords, run_in_turn};
    static constexpr Kernel at_once{sizeof...(Arguments), 512,         true,
                                    All::kPointers,       All::kWords, run_at_once};
  };

  }  // namespace fake
)cpp";

// A thread's own numbers are at a fixed place: half of the time of a small kernel was asking for
// it.
const std::vector<std::string> kCompiler{CXX_COMPILER,
                                         "-std=c++20",
                                         "-O2",
                                         "-shared",
                                         "-fPIC",
                                         "-pthread",
                                         "-fvisibility=hidden",
                                         "-ftls-model=initial-exec"};

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
  std::string exported;
  for (const auto& [word, kind] : {std::pair{"\nKERNEL ", "in_turn"},
                                   {"\nWIDE_KERNEL ", "wide"},
                                   {"\nWAITING_KERNEL ", "at_once"}})
    for (std::size_t at = 0; (at = source.find(word, at)) != source.npos;) {
      at += std::strlen(word);
      const std::string name = source.substr(at, source.find('(', at) - at);
      const std::string object = "const fake::Kernel kernel_" + name;
      exported += "extern \"C\" __attribute__((visibility(\"default\"))) " + object + ";\n" +
                  object + " = fake::Of<" + name + ">::" + kind + ";\n";
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

// Of the ranks of a launch one compiles, the others wait for it.
class Lock {
 public:
  explicit Lock(const std::string& name)
      : file_(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (flock(file_, LOCK_EX) < 0 && errno == EINTR) {
    }
  }
  ~Lock() { close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

// Empty where it went well, or what the compiler said.
std::string compile(const std::string& text, const fs::path& object) {
  const std::string made = object.string() + ".new";
  const std::string source = object.string() + ".cpp";
  const std::string output = object.string() + ".log";
  const Lock lock(object.string() + ".lock");
  if (fs::exists(object)) return "";
  std::ofstream(source) << text;
  std::vector<std::string> words = kCompiler;
  words.insert(words.end(), {"-o", made, source});
  const int status = run_program(words, output);
  std::ifstream file(output);
  std::string log{std::istreambuf_iterator<char>(file), {}};
  std::error_code error;
  if (status == 0) {
    fs::rename(made, object, error);
    log = error ? error.message() : "";
  } else if (log.empty()) {
    log = words[0] + " cannot be run";
  }
  for (const std::string& name : {made, source, output}) fs::remove(name, error);
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

namespace {

std::atomic<int> compiling{0};

void end() {
  if (compiling.load() == 0) return;
  std::fputs("fake NVRTC: the program ends while it compiles\n", stderr);
  std::abort();
}

class Compiling {
 public:
  Compiling() {
    ++compiling;
    if (std::getenv("NEARPEAK_FAKE_NVRTC_ENDS") != nullptr) std::atexit(end);
  }
  ~Compiling() { --compiling; }
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
};

}  // namespace

EXPORT int nvrtcCompileProgram(Program* program, int, const char* const*) {
  const Compiling compiling_now;
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
