// SPDX-License-Identifier: Apache-2.0
// The kernels, compiled by the real compiler where there is one, and run on the fake driver.
#include "accel/cuda/pattern_kernels.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

#include "accel/cuda/nvrtc.hpp"
#include "payload/pattern.hpp"
#include "tests/accel/cuda/kernels.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

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
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto program = device.compile(cuda::kPatternKernels);
  const auto fill = program->kernel("fill");
  const auto find = program->kernel("find_mismatch");
  const auto stream = device.new_stream();
  constexpr std::size_t kRoom = 1100;
  SlotBuffer memory(device.memory(BufferKind::kPinned), kRoom, 2);
  auto* const data = reinterpret_cast<unsigned char*>(memory.slot(0));
  auto* const first = reinterpret_cast<std::uint64_t*>(memory.slot(1));

  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  constexpr std::uint64_t kAsItIs = 0;
  constexpr std::uint64_t kSeed = 77;
  for (const LaunchShape& shape : {LaunchShape{1, 1}, LaunchShape{3, 5}, LaunchShape{40, 32}})
    for (const std::uint64_t bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 1003u})
      for (const std::size_t offset : {0u, 8u, 3u}) {  // from an aligned address
        unsigned char expected[kRoom];
        unsigned char* const target = data + offset;
        const auto found = [&] {
          *first = kNone;
          find->launch(shape, {&target, &bytes, &kSeed, &first}, *stream);
          stream->synchronize();
          return *first;
        };
        std::memset(data, 0xA5, kRoom);
        std::memset(expected, 0xA5, kRoom);
        fill->launch(shape, {&target, &bytes, &kSeed, &kNone}, *stream);
        stream->synchronize();
        fill_inverse(expected + offset, bytes, kSeed);
        CHECK(std::memcmp(data, expected, kRoom) == 0);  // and nothing beyond
        fill->launch(shape, {&target, &bytes, &kSeed, &kAsItIs}, *stream);
        stream->synchronize();
        CHECK_FALSE(find_mismatch(target, bytes, kSeed));

        CHECK(found() == kNone);
        for (std::size_t wrong = 0; wrong < bytes; wrong += 1 + wrong / 4) {
          target[wrong] ^= 0x10;
          target[bytes - 1] ^= 0x01;
          CHECK(found() == wrong);
          target[wrong] ^= 0x10;
          target[bytes - 1] ^= 0x01;
        }
      }
}
