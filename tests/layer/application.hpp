// SPDX-License-Identifier: Apache-2.0
// What applications with buffers on devices of a CUDA driver (NEARPEAK_CUDA_LIBRARY), the fake one
// or a real one (on_gpus.py), have in common: each case is run by its name, and says "CASE: good"
// on rank 0 where all ranks found what they must. Ends with 1 at the first difference. Included
// once.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

int rank = 0, size = 0;
std::string current;

#define CHECK(what)                                                                               \
  do {                                                                                            \
    if (!(what)) {                                                                                \
      std::fprintf(stderr, "rank %d: %s: line %d: %s\n", rank, current.c_str(), __LINE__, #what); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                               \
    }                                                                                             \
  } while (false)

template <typename... Parameters>
int cuda(const char* name, Parameters... parameters) {
  static void* const library = dlopen(std::getenv("NEARPEAK_CUDA_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  auto* const function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
  return function(parameters...);
}

thread_local void* stream = nullptr;  // the fake driver's are for one thread each
bool each_sees_one = false;           // device, as CUDA_VISIBLE_DEVICES can have it

// The device of this rank, or that of the next one.
int device_of(int one) {
  int count = 0;
  CHECK(cuda("cuDeviceGetCount", &count) == 0);
  return one % std::min(count, 2);
}

void take_device() {
  void* context = nullptr;
  if (each_sees_one) {
    const std::string settings = std::getenv("NEARPEAK_FAKE_CUDA");
    const std::string visible = "visible=" + std::to_string(rank % 2);
    setenv("NEARPEAK_FAKE_CUDA", (settings.empty() ? visible : settings + "," + visible).c_str(),
           1);
  }
  CHECK(cuda("cuInit", 0U) == 0);
  CHECK(cuda("cuDevicePrimaryCtxRetain", &context, each_sees_one ? 0 : device_of(rank)) == 0);
  CHECK(cuda("cuCtxSetCurrent", context) == 0);
  CHECK(cuda("cuStreamCreateWithPriority", &stream, 1U, 0) == 0);
}

void copy(void* to, const void* from, std::size_t bytes) {
  CHECK(cuda("cuMemcpyAsync", to, const_cast<void*>(from), bytes, stream) == 0);
  CHECK(cuda("cuStreamSynchronize", stream) == 0);
}

#include "device_memory.hpp"

constexpr std::size_t kPeriod = std::size_t{1} << 16;  // of a pattern

// The pattern of a seed, of which there are 256: all are the same bytes, begun elsewhere in them.
// They are copied and compared at once: to compute each anew would be most of what a test does.
const unsigned char* pattern_of(int seed) {
  static const std::vector<unsigned char> all = [] {
    std::vector<unsigned char> made(2 * kPeriod);
    unsigned char* const bytes = made.data();
    for (std::size_t i = 0; i < 2 * kPeriod; ++i)
      bytes[i] = static_cast<unsigned char>(i * 131 + (i >> 8) * 17);
    return made;
  }();
  return all.data() + 256 * (static_cast<std::size_t>(seed) * 77 % 256);
}

unsigned char pattern(std::size_t i, int seed) { return pattern_of(seed)[i % kPeriod]; }

// Makes data[i] pattern(i, seed).
void put_pattern(unsigned char* data, std::size_t bytes, int seed) {
  for (std::size_t i = 0; i < bytes; i += kPeriod)
    std::memcpy(data + i, pattern_of(seed), std::min(bytes - i, kPeriod));
}

// Whether data[i] is pattern(i, seed) from `begin` to `end`.
bool has_pattern(const unsigned char* data, std::size_t begin, std::size_t end, int seed) {
  for (std::size_t i = begin; i < end;) {
    const std::size_t n = std::min(end - i, kPeriod - i % kPeriod);
    if (std::memcmp(data + i, pattern_of(seed) + i % kPeriod, n) != 0) return false;
    i += n;
  }
  return true;
}

// In a thread other than the first one.
void take_same_device() {
  void* context = nullptr;
  CHECK(cuda("cuDevicePrimaryCtxRetain", &context, device_of(rank)) == 0);
  CHECK(cuda("cuCtxSetCurrent", context) == 0);
  CHECK(cuda("cuStreamCreateWithPriority", &stream, 1U, 0) == 0);
}

// Whether several threads may call MPI.
bool several_threads() {
  int given = 0;
  MPI_Query_thread(&given);
  return given == MPI_THREAD_MULTIPLE;
}

// Memory on a device ('D') or of the host ('H'); at least one byte.
class Buffer {
 public:
  Buffer(char kind, std::size_t bytes, std::size_t offset = 0)
      : kind_(kind), bytes_(bytes), offset_(offset), seen_(bytes) {
    if (kind == 'D')
      base_ = device_memory(bytes + offset + 1);
    else
      base_ = std::malloc(bytes + offset + 1);
    fill(-1);
  }
  ~Buffer() {
    if (kind_ == 'D')
      free_device_memory(base_);
    else
      std::free(base_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return static_cast<char*>(base_) + offset_; }
  void fill(int seed) {
    put_pattern(seen_.data(), bytes_, seed);
    write();
  }
  // Whether `bytes` of it are those of a seed, and the rest as it was.
  bool has(int seed, std::size_t bytes, int rest = -1) {
    read();
    return has_pattern(seen_.data(), 0, bytes, seed) &&
           has_pattern(seen_.data(), bytes, bytes_, rest);
  }
  std::vector<unsigned char>& bytes() { return seen_; }
  void write() {
    if (kind_ == 'D')
      copy(data(), seen_.data(), bytes_);
    else if (bytes_ > 0)
      std::memcpy(data(), seen_.data(), bytes_);
  }
  void read() {
    if (kind_ == 'D')
      copy(seen_.data(), data(), bytes_);
    else if (bytes_ > 0)
      std::memcpy(seen_.data(), data(), bytes_);
  }

 private:
  char kind_;
  std::size_t bytes_;
  std::size_t offset_;
  void* base_ = nullptr;
  std::vector<unsigned char> seen_;
};

// A function that is called and not kept. std::function would have each lambda take the compiler
// several times as long.
template <typename... Parameters>
class Call {
 public:
  template <typename Function>
  Call(const Function& function)
      : function_(&function), call_([](const void* called, Parameters... parameters) {
          (*static_cast<const Function*>(called))(parameters...);
        }) {}
  void operator()(Parameters... parameters) const { call_(function_, parameters...); }

 private:
  const void* function_;
  void (*call_)(const void*, Parameters...);
};

// Whether a call leaves on devices what it leaves in host memory, between its data as well.
void alike(std::size_t bytes, const Call<void*, void*>& call) {
  std::vector<unsigned char> given, got;
  for (const auto& kind : {"HH", "DD", "DH", "HD"}) {
    Buffer data(kind[0], bytes), in(kind[1], bytes, 8);
    data.fill(rank);
    in.fill(20 + rank);
    call(data.data(), in.data());
    data.read();
    in.read();
    if (given.empty()) {
      given = data.bytes();
      got = in.bytes();
    }
    CHECK(data.bytes() == given);
    CHECK(in.bytes() == got);
  }
}

// How much memory of others is open.
int opened() { return cuda("fake_cuda_opened"); }

int class_of(int code) {
  int found = 0;
  MPI_Error_class(code, &found);
  return found;
}

void barrier() { MPI_Barrier(MPI_COMM_WORLD); }

using Cases = std::map<std::string, void (*)()>;

// `begin`: before the first case that has a device.
// Cases that need no device before, or take one themselves.
const std::set<std::string> begins_alone{"host_alone", "shorter", "joined", "probed_before",
                                         "asked_without"};

int run(int argc, char** argv, const Cases& cases, void (*begin)()) {
  // Of several threads, where one calls MPI: other ways through the layer, and the same results.
  bool multiple = false;
  int first = 1;
  for (; first < argc && argv[first][0] == '-'; ++first) {
    const std::string option = argv[first];
    multiple = multiple || option == "--multiple";
    each_sees_one = each_sees_one || option == "--each-sees-one";
    if (option == "--memory") memory_kind = memory_of(argv[++first]);
  }
  int given = 0;
  if (multiple)
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  else
    MPI_Init(&argc, &argv);
  if (multiple && given != MPI_THREAD_MULTIPLE) return 3;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool device = false;
  for (int i = first; i < argc; ++i) {
    current = argv[i];
    if (begins_alone.count(current) == 0 && !device) {
      take_device();
      begin();
      device = true;
    }
    cases.at(current)();
    barrier();
    if (rank == 0) std::printf("%s: good\n", argv[i]);
    std::fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
