// SPDX-License-Identifier: Apache-2.0
// The kernels that fill and verify, compiled by the real compiler where there is one, and run on
// the fake driver.
#include "payload/pattern.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "accel/kernels/kernels.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/kernels/kernels.hpp"

using namespace nearpeak;

TEST_CASE("the kernels of payloads compile for GPUs") {
  compile_for_gpus(kernels::kPattern, {"fill", "poison", "find_mismatch"});
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
  CHECK(why_no_kernels(device) ==
        "cuModuleLoadData on GPU 0: CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid");
  SlotBuffer memory(device.memory(BufferKind::kDevice), 100, 1);
  memory.poison(2);
  memory.fill({2});
  CHECK_FALSE(memory.find_mismatch({2}));
}

TEST_CASE("the kernels fill, poison and find as the host does, at every length, place and launch") {
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto program = device.kernels()->compile(kernels::kPattern);
  const auto fill_slots = program->kernel("fill");
  const auto poison_slots = program->kernel("poison");
  const auto find = program->kernel("find_mismatch");
  const auto stream = device.new_stream();
  constexpr std::size_t kRoom = 40000;
  SlotBuffer memory(device.memory(BufferKind::kPinned), kRoom, 2);
  auto* const data = reinterpret_cast<unsigned char*>(memory.slot(0));
  auto* const first = reinterpret_cast<std::uint64_t*>(memory.slot(1));

  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  constexpr std::uint64_t kSeed = 77;
  struct Slots {
    std::uint64_t bytes, stride, count;
  };
  for (const LaunchShape& shape : {LaunchShape{1, 1}, LaunchShape{3, 5}, LaunchShape{40, 32}})
    for (const Slots& slots :
         {Slots{0, 64, 2}, Slots{1, 1, 5}, Slots{7, 64, 3}, Slots{8, 8, 4}, Slots{65, 67, 3},
          Slots{1003, 1024, 2}, Slots{4096, 4096, 2}, Slots{9001, 9024, 3}})
      for (const std::size_t offset : {0u, 8u, 3u})  // from an aligned address
        for (const Payload& payload : {Payload{kSeed, 0}, Payload{kSeed, 5}}) {
          const auto& [bytes, stride, count] = slots;
          const SlotLayout layout{.bytes = bytes, .stride = stride, .count = count};
          const std::size_t whole = stride * count;
          std::vector<unsigned char> expected(kRoom, 0xA5);
          std::memset(data, 0xA5, kRoom);
          unsigned char* const target = data + offset;
          const auto same = [&] { return std::memcmp(data, expected.data(), kRoom) == 0; };
          const auto fill_part = [&](Part part) {
            const std::uint64_t stamps = part == Part::kStamps ? 1 : 0;
            fill_slots->launch(shape,
                               {&target, &bytes, &stride, &count, &kSeed, &payload.round, &stamps},
                               *stream);
            stream->synchronize();
            fill(expected.data() + offset, layout, payload, part);
          };
          const auto found = [&](Part part) {
            const std::uint64_t stamps = part == Part::kStamps ? 1 : 0;
            *first = kNone;
            find->launch(
                shape, {&target, &bytes, &stride, &count, &kSeed, &payload.round, &stamps, &first},
                *stream);
            stream->synchronize();
            const auto wrong = find_mismatch(target, layout, payload, part);
            CHECK(*first == (wrong ? wrong->slot * stride + wrong->byte : kNone));
            return wrong.has_value();
          };
          fill_part(Part::kStamps);
          CHECK(same());  // and nothing beyond
          CHECK_FALSE(found(Part::kStamps));
          poison_slots->launch(shape, {&target, &stride, &count, &kSeed}, *stream);
          stream->synchronize();
          poison(expected.data() + offset, layout, kSeed);
          CHECK(same());
          CHECK(found(Part::kAll) == (bytes > 0));
          fill_part(Part::kAll);
          CHECK(same());
          CHECK_FALSE(found(Part::kAll));
          for (std::size_t wrong = 0; wrong < whole; wrong += 1 + wrong / 2) {
            target[wrong] ^= 0x10;
            target[whole - 1] ^= 0x01;
            CHECK(found(Part::kAll));
            found(Part::kStamps);
            target[wrong] ^= 0x10;
            target[whole - 1] ^= 0x01;
          }
        }
}
