// SPDX-License-Identifier: Apache-2.0
// The kernels, compiled by the real compiler where there is one; those that wait for nobody also
// run as C++ on the CPU.
#include "accel/cuda/copy_kernels.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "accel/cuda/nvrtc.hpp"
#include "tests/accel/cuda/kernels.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

constexpr const char* kPrologue = R"(
struct uint4 { unsigned x, y, z, w; };
)";
constexpr const char* kEpilogue = R"(
extern "C" void launch_copy_slots(unsigned blocks, unsigned threads, u8* to, const u8* from,
                                  u64 bytes, u64 stride, u64 count, u64 blocks_each) {
  launch(blocks, threads, copy_slots, to, from, bytes, stride, count, blocks_each);
}
)";

using U64 = unsigned long long;
using Copy = void (*)(unsigned, unsigned, void*, const void*, U64, U64, U64, U64);

}  // namespace

TEST_CASE("the kernels that move data compile for GPUs") {
  const std::string library = find_nvrtc();
  if (library.empty()) {
    MESSAGE("skipped: NVRTC is not here");
    return;
  }
  const Variable chosen("NEARPEAK_NVRTC_LIBRARY", library);
  const cuda::Nvrtc nvrtc;
  const std::string source = std::string(cuda::kCopyKernels) + cuda::kFlagKernels;
  for (const int major : {8, 9}) {
    const std::string code = nvrtc.compile(source, major, 0);
    for (const char* name : {"copy_slots", "answer_flags", "pass_messages"})
      CHECK(code.find(name) != std::string::npos);
  }
}

TEST_CASE("messages are copied whole, and nothing beside them, at every place and launch") {
  const Folder folder;
  std::ofstream(folder.file("kernels.cpp"))
      << kGridOnCpu << kPrologue << cuda::kCopyKernels << kLaunchOnCpu << kEpilogue;
  const int status = run_program({CXX_COMPILER, "-std=c++20", "-shared", "-fPIC", "-O1", "-o",
                                  folder.file("kernels.so"), folder.file("kernels.cpp")});
  if (status == -1 || status == 127) {
    MESSAGE("skipped: the compiler that built this is gone");
    return;
  }
  REQUIRE(status == 0);
  void* const library = dlopen(folder.file("kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto copy = reinterpret_cast<Copy>(dlsym(library, "launch_copy_slots"));

  struct Shape {
    unsigned blocks, threads;
    U64 each;
  };
  constexpr std::size_t kRoom = 8192;
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{6, 5, 2}, Shape{3, 32, 3}, Shape{8, 7, 1}})
    for (const std::size_t bytes : {0u, 1u, 15u, 16u, 17u, 64u, 100u, 1003u})
      for (const std::size_t offset : {0u, 8u, 3u})
        for (const U64 count : {1u, 3u, 7u}) {
          const std::size_t stride = (bytes + 63) / 64 * 64 + 64;
          alignas(16) unsigned char from[kRoom + 16];
          alignas(16) unsigned char to[kRoom + 16];
          unsigned char expected[kRoom + 16];
          REQUIRE(offset + stride * count <= sizeof(to));
          for (std::size_t i = 0; i < sizeof(from); ++i)
            from[i] = static_cast<unsigned char>(i * 131 + i / 251);
          std::memset(to, 0xA5, sizeof(to));
          std::memset(expected, 0xA5, sizeof(expected));
          for (U64 m = 0; m < count; ++m)
            std::memcpy(expected + offset + m * stride, from + m * stride, bytes);
          copy(shape.blocks, shape.threads, to + offset, from, bytes, stride, count, shape.each);
          CHECK(std::memcmp(to, expected, sizeof(to)) == 0);
        }
  dlclose(library);
}
