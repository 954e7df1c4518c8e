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
  const FakeCuda fake("driver=13000");
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
      other.poison(3);
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

TEST_CASE("a pool hands out pieces of one allocation, and freed ones again") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  for (const auto& [name, kind] :
       {std::pair{"pool", BufferKind::kDevice}, std::pair{"managed-pool", BufferKind::kManaged}}) {
    CAPTURE(name);
    Memory& memory = memory_from(name, kind, &device);
    char* const first = static_cast<char*>(memory.allocate(1));
    char* const second = static_cast<char*>(memory.allocate(1000));
    char* const third = static_cast<char*>(memory.allocate(8));
    CHECK(second == first + 512);
    CHECK(third == second + 1024);
    const auto whole = cuda->locate(first);
    REQUIRE(whole);
    CHECK(whole->kind == kind);
    CHECK(whole->base == first - 512);
    CHECK(cuda->locate(third)->allocation == whole->allocation);
    memory.release(second);
    CHECK(memory.allocate(1025) == third + 512);
    CHECK(memory.allocate(1024) == second);
    for (char* const piece : {first, second, third, third + 512}) memory.release(piece);
  }
}

TEST_CASE("a pool gives back what is empty before it takes more") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  Memory& memory = memory_of(device, "pool");
  const std::uint64_t before = device.used_bytes();
  constexpr std::size_t kLarge = std::size_t{80} << 20;
  memory.release(memory.allocate(8));
  CHECK(device.used_bytes() == before + (std::size_t{64} << 20));
  void* const large = memory.allocate(kLarge);
  CHECK(device.used_bytes() < before + kLarge + (std::size_t{1} << 20));
  memory.release(large);
}

TEST_CASE("a driver without pools of managed memory is told") {
  const FakeCuda fake("driver=12080");
  const auto cuda = FakeCuda::load();
  Memory& memory = memory_from("managed-async", BufferKind::kManaged, &cuda->device(0));
  CHECK_THROWS_WITH_AS(
      memory.allocate(8),
      "cuMemPoolCreate(8 B) on GPU 0: CUDA_ERROR_INVALID_VALUE: invalid argument; pools of managed "
      "memory came with CUDA 13.0, and this is the driver for CUDA 12.8",
      AcceleratorError);
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
