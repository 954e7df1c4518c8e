// SPDX-License-Identifier: Apache-2.0
// The kernels, compiled by the real compiler where there is one, and run as C++ on the CPU.
#include "accel/cuda/pattern_kernels.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "accel/cuda/nvrtc.hpp"
#include "payload/pattern.hpp"
#include "tests/accel/cuda/kernels.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

constexpr const char* kPrologue = R"(
static void atomicMin(unsigned long long* least, unsigned long long value) {
  if (value < *least) *least = value;
}
)";
constexpr const char* kEpilogue = R"(
extern "C" void launch_fill(unsigned blocks, unsigned threads, u8* target, u64 bytes, u64 seed,
                            u64 flip) {
  launch(blocks, threads, fill, target, bytes, seed, flip);
}
extern "C" void launch_find_mismatch(unsigned blocks, unsigned threads, const u8* data, u64 bytes,
                                     u64 seed, u64* first) {
  launch(blocks, threads, find_mismatch, data, bytes, seed, first);
}
)";

using U64 = unsigned long long;
using Fill = void (*)(unsigned, unsigned, void*, U64, U64, U64);
using Find = void (*)(unsigned, unsigned, const void*, U64, U64, U64*);

}  // namespace

TEST_CASE("the kernels compile for GPUs") {
  const std::string library = find_nvrtc();
  if (!library.empty()) {
    const Variable chosen("NEARPEAK_NVRTC_LIBRARY", library);
    const cuda::Nvrtc nvrtc;
    for (const int major : {8, 9}) {
      const std::string code = nvrtc.compile(cuda::kPatternKernels, major, 0);
      CHECK(code.substr(0, 4) ==
            "\x7f"
            "ELF");
      CHECK(code.find("find_mismatch") != std::string::npos);
    }
    CHECK_THROWS_WITH_AS(nvrtc.compile("__global__ void broken() { nonsense; }", 9, 0),
                         doctest::Contains("nonsense"), AcceleratorError);
    CHECK_THROWS_AS(nvrtc.compile(cuda::kPatternKernels, 1, 0), AcceleratorError);
    return;
  }
  const Folder folder;
  std::ofstream(folder.file("pattern.cu")) << cuda::kPatternKernels;
  const int status = run_program({"nvcc", "--ptx", "-Werror", "all-warnings", "-o",
                                  folder.file("pattern.ptx"), folder.file("pattern.cu")});
  if (status == -1 || status == 127) {
    MESSAGE("skipped: neither NVRTC nor nvcc is here");
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("a compiled program that the driver refuses is a reason for having no kernels") {
  const std::string library = find_nvrtc();
  if (library.empty()) {
    MESSAGE("skipped: NVRTC is not here");
    return;
  }
  const FakeCuda fake;
  const Variable chosen("NEARPEAK_NVRTC_LIBRARY", library);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  CHECK(device.why_no_kernels() ==
        "cuModuleLoadData on GPU 0: CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid");
  SlotBuffer memory(device.memory(BufferKind::kDevice), 100, 1);
  memory.fill_pattern(2);
  CHECK_FALSE(memory.find_mismatch(2));
}

TEST_CASE("a library that is no NVRTC is a reason") {
  const Variable chosen("NEARPEAK_NVRTC_LIBRARY", "libm.so.6");
  CHECK_THROWS_WITH_AS(cuda::Nvrtc(), "libm.so.6 is too old: it has no nvrtcGetErrorString",
                       BackendUnavailable);
}

TEST_CASE("the kernels fill and find as the host does, at every length, place and launch") {
  const Folder folder;
  std::ofstream(folder.file("kernels.cpp"))
      << kGridOnCpu << kPrologue << cuda::kPatternKernels << kLaunchOnCpu << kEpilogue;
  const int status = run_program({CXX_COMPILER, "-std=c++20", "-shared", "-fPIC", "-O1", "-o",
                                  folder.file("kernels.so"), folder.file("kernels.cpp")});
  if (status == -1 || status == 127) {
    MESSAGE("skipped: the compiler that built this is gone");
    return;
  }
  REQUIRE(status == 0);
  void* const library = dlopen(folder.file("kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto fill = reinterpret_cast<Fill>(dlsym(library, "launch_fill"));
  const auto find = reinterpret_cast<Find>(dlsym(library, "launch_find_mismatch"));

  constexpr U64 kNone = ~0ULL;
  const std::pair<unsigned, unsigned> shapes[] = {{1, 1}, {3, 5}, {40, 32}};
  for (const auto& [blocks, threads] : shapes)
    for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 1003u})
      for (const std::size_t offset : {0u, 8u, 3u}) {  // from an aligned address
        alignas(8) unsigned char data[1100];
        unsigned char expected[1100];
        unsigned char* const target = data + offset;
        std::memset(data, 0xA5, sizeof(data));
        std::memset(expected, 0xA5, sizeof(expected));
        fill(blocks, threads, target, bytes, 77, kNone);
        fill_inverse(expected + offset, bytes, 77);
        CHECK(std::memcmp(data, expected, sizeof(data)) == 0);  // and nothing beyond
        fill(blocks, threads, target, bytes, 77, 0);
        CHECK_FALSE(find_mismatch(target, bytes, 77));

        U64 first = kNone;
        find(blocks, threads, target, bytes, 77, &first);
        CHECK(first == kNone);
        for (std::size_t wrong = 0; wrong < bytes; wrong += 1 + wrong / 4) {
          target[wrong] ^= 0x10;
          target[bytes - 1] ^= 0x01;
          first = kNone;
          find(blocks, threads, target, bytes, 77, &first);
          CHECK(first == wrong);
          target[wrong] ^= 0x10;
          target[bytes - 1] ^= 0x01;
        }
      }
  dlclose(library);
}
