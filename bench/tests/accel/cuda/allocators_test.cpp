// SPDX-License-Identifier: Apache-2.0
// Over the fake driver, at the end of which nothing may have leaked.
#include "accel/allocators.hpp"

#include <doctest/doctest.h>

#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

constexpr std::size_t kChunk = std::size_t{2} << 20;  // of the fake driver

Memory& memory_of(Device& device, const std::string& name) {
  return memory_from(name, BufferKind::kDevice, &device);
}

}  // namespace

TEST_CASE("every allocator gives memory that is filled and verified") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(1);
  for (const AllocatorInfo& info : allocators()) {
    CAPTURE(info.name);
    Memory& memory = memory_from(info.name, info.kind, &device);
    CHECK(&memory_from(info.name, info.kind, &device) == &memory);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, kChunk + 8}) {
      SlotBuffer buffer(memory, bytes, 2, 1);
      SlotBuffer other(memory, bytes, 2, 1);
      buffer.fill({3});
      other.spoil(3);
      CHECK(other.find_mismatch({3}));
      for (const std::size_t slot : {0, 1}) device.copy(other.slot(slot), buffer.slot(slot), bytes);
      CHECK_FALSE(other.find_mismatch({3}));
    }
  }
}

TEST_CASE("memory in chunks is cut within what is allocated") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Memory& memory = memory_of(cuda->device(0), "vmm-chunks");
  for (const std::size_t bytes : {std::size_t{8192}, std::size_t{65536}, 3 * kChunk}) {
    const auto begin = reinterpret_cast<std::size_t>(memory.allocate(bytes));
    CHECK(begin % 4096 == 0);
    memory.release(reinterpret_cast<void*>(begin));
  }
}

TEST_CASE("the memory that a device uses is told") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const std::uint64_t before = device.used_bytes();
  const SlotBuffer buffer(memory_of(device, "vmm"), 8, 1);
  CHECK(device.used_bytes() == before + kChunk);
}

TEST_CASE("what the driver lacks or refuses is told, and leaves nothing behind") {
  {
    const FakeCuda fake;
    const auto cuda = FakeCuda::load();
    CHECK_THROWS_WITH_AS(memory_of(cuda->device(0), "scam"), "Fake GPU A has no allocator 'scam'",
                         AcceleratorError);
  }
  for (const auto& [name, call] :
       {std::pair{"async", "cuMemAllocAsync"}, std::pair{"vmm", "cuMemCreate"},
        std::pair{"vmm-chunks", "cuMemMap"}, std::pair{"vmm", "cuMemSetAccess"},
        std::pair{"vmm", "cuMemAddressReserve"}, std::pair{"symbol", "cuModuleGetGlobal_v2"},
        std::pair{"symbol", "cuModuleLoadData"}}) {
    CAPTURE(call);
    const FakeCuda fake(std::string(call) + ":801");
    const auto cuda = FakeCuda::load();
    const std::string text = std::string(call) + "(";
    try {
      memory_of(cuda->device(0), name).allocate(8);
      FAIL("it was allocated");
    } catch (const AcceleratorError& error) {
      CHECK(std::string(error.what()).starts_with(text));
    }
  }
}
