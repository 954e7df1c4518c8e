// SPDX-License-Identifier: Apache-2.0
// The persistent copy kernel on the fake driver, whose memory the CPU reaches: addresses stand in
// orders.
#include "accel/persistent_copy_kernel.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "accel/kernels/kernels.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/kernels/kernels.hpp"

using namespace nearpeak;

namespace {

constexpr std::chrono::seconds kPatience{60};

struct FakeCudaThatCarries : FakeCuda {
  FakeCudaThatCarries() : FakeCuda("reachable=1", FAKE_CUDA, FAKE_NVRTC) {}
};

// Whether something comes true in a minute.
template <typename Ready>
bool wait(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!ready()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// A device with memory, and what is expected there.
struct CopyRig {
  static constexpr std::size_t kRoom = PersistentCopyKernel::kMost + 256;
  explicit CopyRig(Device& device, std::chrono::microseconds patience = kPatience)
      : memory(device.memory(BufferKind::kDevice), kRoom, 2), copy_kernel(device, patience) {
    for (std::size_t i = 0; i < kRoom; ++i) pattern.push_back(static_cast<char>(i * 131 + i / 251));
  }
  char* at(std::size_t offset) const { return memory.slot(0) + offset; }
  char* there(std::size_t offset) const { return memory.slot(1) + offset; }

  bool carry_one() { return copy_kernel.copy_to_device(at(0), pattern.data(), 8); }
  // Pieces until a kernel is there.
  bool begin() {
    return wait([&] { return carry_one(); });
  }

  SlotBuffer memory;
  PersistentCopyKernel copy_kernel;
  std::vector<char> pattern;
};

constexpr std::size_t kCopySizes[] = {1,   3,   4,   8,    9,    56,   57,
                                      255, 256, 257, 1000, 4096, 5001, 16384};

}  // namespace

TEST_CASE("the persistent copy kernel compiles for GPUs") {
  compile_for_gpus(kernels::persistent_copy(), {"persistent_copy", "move_blocks", "copy_batch"});
}

TEST_CASE(
    "a persistent copy kernel carries whole pieces up, down and across, and nothing beside them") {
  const FakeCudaThatCarries fake;
  const auto cuda = FakeCuda::load();
  CopyRig rig(cuda->device(0));
  REQUIRE(rig.begin());
  for (const std::size_t offset : {0u, 1u, 4u, 8u, 40u})
    for (const std::size_t bytes : kCopySizes) {
      std::vector<char> expected(CopyRig::kRoom, 'x'), got(bytes + 1, 'y');
      std::memset(rig.at(0), 'x', CopyRig::kRoom);
      std::memset(rig.there(0), 'x', CopyRig::kRoom);
      std::memcpy(expected.data() + offset, rig.pattern.data(), bytes);
      const std::uint64_t before = rig.copy_kernel.carried();
      CHECK(rig.copy_kernel.copy_to_device(rig.at(offset), rig.pattern.data(), bytes));
      CHECK(std::memcmp(rig.at(0), expected.data(), CopyRig::kRoom) == 0);
      CHECK(rig.copy_kernel.copy_to_host(got.data(), rig.at(offset), bytes));
      CHECK(std::memcmp(got.data(), rig.pattern.data(), bytes) == 0);
      CHECK(got[bytes] == 'y');
      CHECK(rig.copy_kernel.copy_between_devices(rig.there(offset), rig.at(offset), bytes));
      CHECK(std::memcmp(rig.there(0), expected.data(), CopyRig::kRoom) == 0);
      CHECK(rig.copy_kernel.carried() == before + 3);
    }
  CHECK(rig.copy_kernel.copy_between_devices(rig.there(16), rig.pattern.data(),
                                             PersistentCopyKernel::kMost));
  CHECK(std::memcmp(rig.there(16), rig.pattern.data(), PersistentCopyKernel::kMost) == 0);
}

TEST_CASE("what a persistent copy kernel does not carry is left to others") {
  const FakeCudaThatCarries fake;
  const auto cuda = FakeCuda::load();
  CopyRig rig(cuda->device(0));
  REQUIRE(rig.begin());
  CHECK_FALSE(rig.copy_kernel.copy_to_device(rig.at(0), rig.pattern.data(), 0));
  CHECK_FALSE(
      rig.copy_kernel.copy_to_device(rig.at(0), rig.pattern.data(), CopyMailbox::kStaged + 1));
  CHECK_FALSE(rig.copy_kernel.copy_between_devices(rig.there(1), rig.at(0), 64));
  CHECK_FALSE(rig.copy_kernel.copy_between_devices(rig.there(0), rig.at(0),
                                                   PersistentCopyKernel::kMost + 1));
}

TEST_CASE(
    "an idle persistent copy kernel leaves, and comes back where pieces are close behind one "
    "another") {
  const FakeCudaThatCarries fake;
  const auto cuda = FakeCuda::load();
  CopyRig rig(cuda->device(0), std::chrono::microseconds(20'000));
  for (int round = 0; round < 2; ++round) {
    REQUIRE(rig.begin());
    CHECK(wait([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return !rig.carry_one();
    }));
  }
}

TEST_CASE(
    "a persistent copy kernel that serves no order has done nothing, and is asked for less and "
    "less") {
  const FakeCudaThatCarries fake;
  const Variable defect("NEARPEAK_FAKE_NVRTC", "order.w != mark=>true");
  const auto cuda = FakeCuda::load();
  CopyRig rig(cuda->device(0), std::chrono::microseconds(2'000));
  std::memset(rig.at(0), 'x', 8);
  for (int i = 0; i < 500; ++i) CHECK_FALSE(rig.carry_one());
  CHECK(std::memcmp(rig.at(0), "xxxxxxxx", 8) == 0);
  CHECK(rig.copy_kernel.carried() == 0);
}

TEST_CASE("a persistent copy kernel that never begins keeps nobody waiting") {
  const FakeCudaThatCarries fake;
  const Variable defect("NEARPEAK_FAKE_NVRTC",
                        "(u32*)(mailbox + kHere), (u32)number=>"
                        "(u32*)(mailbox + kHere), 0");
  const auto cuda = FakeCuda::load();
  CopyRig rig(cuda->device(0), std::chrono::microseconds(2'000));
  for (int i = 0; i < 500; ++i) CHECK_FALSE(rig.carry_one());
}

TEST_CASE("a persistent copy kernel whose answers take long is asked no more") {
  const FakeCudaThatCarries fake;
  const Variable defect("NEARPEAK_FAKE_NVRTC",
                        "if (lane == 0 && kind=>for (u64 b = now_ns(); now_ns() - b < 30000000;) "
                        "breathe();\n if (lane == 0 && kind");
  const auto cuda = FakeCuda::load();
  CopyRig rig(cuda->device(0), std::chrono::microseconds(20'000));
  REQUIRE(rig.begin());
  CHECK(wait([&] {
    rig.carry_one();
    return rig.copy_kernel.slow();
  }));
  CHECK_FALSE(rig.carry_one());
}

TEST_CASE("a persistent copy kernel leaves no memory that forked processes do not have") {
  const auto uncopied = [] {
    std::ifstream maps("/proc/self/smaps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      if (line.starts_with("VmFlags:") && line.find(" dc") != std::string::npos) ++count;
    return count;
  };
  const FakeCudaThatCarries fake;
  const auto cuda = FakeCuda::load();
  const int before = uncopied();
  {
    const PersistentCopyKernel copy_kernel(cuda->device(0), kPatience);
  }
  CHECK(uncopied() == before);
}

TEST_CASE("without a compiler there is no persistent copy kernel") {
  const FakeCuda fake("reachable=1");
  const auto cuda = FakeCuda::load();
  CHECK_THROWS_AS(PersistentCopyKernel(cuda->device(0), kPatience), BackendUnavailable);
}
