// SPDX-License-Identifier: Apache-2.0
// The kernels that copy, at many shapes of launch on the fake driver.
#include <doctest/doctest.h>

#include <cstring>

#include "accel/kernels/kernels.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/kernels/kernels.hpp"

using namespace nearpeak;

TEST_CASE("the kernels that move data compile for GPUs") {
  compile_for_gpus(kernels::motion(), {"copy_slots", "answer_flags", "pass_messages", "resident"});
}

TEST_CASE("messages are copied whole, and nothing beside them, at every place and launch") {
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto program = device.kernels()->compile(kernels::kCopy);
  const auto kernel = program->kernel("copy_slots");
  const auto stream = device.new_stream();
  constexpr std::size_t kRoom = 8192 + 16;
  SlotBuffer from_memory(device.memory(BufferKind::kPinned), kRoom, 1);
  SlotBuffer to_memory(device.memory(BufferKind::kPinned), kRoom, 1);
  auto* const from = reinterpret_cast<unsigned char*>(from_memory.slot(0));
  auto* const to = reinterpret_cast<unsigned char*>(to_memory.slot(0));
  for (std::size_t i = 0; i < kRoom; ++i) from[i] = static_cast<unsigned char>(i * 131 + i / 251);

  struct Shape {
    unsigned blocks, threads;
    std::uint64_t each;
  };
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{6, 5, 2}, Shape{3, 32, 3}, Shape{8, 7, 1}})
    for (const std::uint64_t bytes : {0u, 1u, 15u, 16u, 17u, 64u, 100u, 1003u})
      for (const std::size_t offset : {0u, 8u, 3u})
        for (const std::uint64_t count : {1u, 3u, 7u}) {
          const std::uint64_t stride = (bytes + 63) / 64 * 64 + 64;
          REQUIRE(offset + stride * count <= kRoom);
          unsigned char expected[kRoom];
          std::memset(to, 0xA5, kRoom);
          std::memset(expected, 0xA5, kRoom);
          for (std::uint64_t m = 0; m < count; ++m)
            std::memcpy(expected + offset + m * stride, from + m * stride, bytes);
          unsigned char* const target = to + offset;
          kernel->launch({shape.blocks, shape.threads},
                         {&target, &from, &bytes, &stride, &count, &shape.each}, *stream);
          stream->synchronize();
          CHECK(std::memcmp(to, expected, kRoom) == 0);
        }
}
