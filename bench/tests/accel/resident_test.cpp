// SPDX-License-Identifier: Apache-2.0
// The resident kernel on the fake driver; both CPUs are this one.
#include "accel/resident.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <stdlib.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

using Inside = ResidentSender::Inside;

struct FakeCudaWithKernels : FakeCuda {
  FakeCudaWithKernels() : FakeCuda("", FAKE_CUDA, FAKE_NVRTC) {}
};

// Memory that begins on a page, all zero.
struct Queues {
  ResidentQueue* of;
  Queues() : of(static_cast<ResidentQueue*>(std::aligned_alloc(4096, 2 * sizeof(ResidentQueue)))) {
    std::memset(static_cast<void*>(of), 0, 2 * sizeof(ResidentQueue));
  }
  ~Queues() { std::free(of); }
};

// One kernel and messages both ways, of which each end's are in memory of this kind.
class Rig {
 public:
  Rig(Device& device, std::size_t bytes, std::size_t slots, BufferKind first = BufferKind::kDevice,
      unsigned blocks = 2, std::uint64_t patience_ns = ResidentKernel::kPatienceNs)
      : registered_(device.registration()->register_memory(queues_.of, 2 * sizeof(ResidentQueue))),
        ends_{End(device.memory(first), bytes, slots, 0),
              End(device.memory(BufferKind::kDevice), bytes, slots, 1)},
        shape_{.blocks = blocks, .stride = SlotBuffer::stride(bytes)},
        program_(device.kernels()->motion()) {
    const bool in_host = first != BufferKind::kDevice;
    for (const int sender : {0, 1}) {
      const auto inside = !in_host      ? Inside::kNo
                          : sender == 0 ? Inside::kInBell
                                        : Inside::kInArrival;
      senders_[sender].emplace(queues_.of[sender], shape_, inside);
      receivers_[sender].emplace(queues_.of[sender], shape_, inside == Inside::kInArrival);
    }
    const ResidentKernel::Direction directions[] = {direction(0), direction(1)};
    kernel_.emplace(device, *program_, shape_, directions[0], &directions[1], patience_ns);
  }

  void ring(int sender, std::size_t slot, std::size_t bytes) {
    wait([&] { return senders_[sender]->ring(slot, bytes, ends_[sender].out.slot(slot)); });
  }
  void receive(int sender, std::size_t slot, std::size_t bytes) {
    wait([&] { return receivers_[sender]->receive(bytes, ends_[1 - sender].in.slot(slot)); });
  }
  bool all_there(int sender) { return senders_[sender]->all_there(); }
  SlotBuffer& out(int end) { return ends_[end].out; }
  SlotBuffer& in(int end) { return ends_[end].in; }
  std::optional<Mismatch> wrong(int end) const {
    return ends_[end].in.find_mismatch({ends_[1 - end].seed});
  }
  // How many kernels have.
  std::uint64_t has_left() const { return queues_.of[0].left.load() >> 32; }
  void keep() { kernel_->keep(); }
  // What the kernel tells of a direction when it leaves.
  std::atomic<std::uint64_t>& left(int sender) { return queues_.of[sender].left; }

 private:
  struct End {
    std::uint64_t seed;
    SlotBuffer out, in;
    End(Memory& memory, std::size_t bytes, std::size_t slots, std::uint64_t rank)
        : seed(100 + rank), out(memory, bytes, slots), in(memory, bytes, slots) {
      out.fill({seed});
      in.poison(101 - rank);
    }
  };

  ResidentKernel::Direction direction(int sender) {
    auto* const base = static_cast<char*>(registered_->on_device());
    return {.queue = &queues_.of[sender],
            .on_device = base + sender * sizeof(ResidentQueue),
            .from = ends_[sender].out.slot(0),
            .to = ends_[1 - sender].in.slot(0)};
  }

  template <class Ready>
  void wait(Ready ready) {
    while (!ready()) {
      kernel_->keep();
      sched_yield();
    }
  }

  Queues queues_;
  std::unique_ptr<RegisteredMemory> registered_;
  End ends_[2];
  ResidentShape shape_;
  std::unique_ptr<Program> program_;
  std::optional<ResidentSender> senders_[2];
  std::optional<ResidentReceiver> receivers_[2];
  std::optional<ResidentKernel> kernel_;
};

void wait_until_left(const Rig& rig, std::uint64_t kernels) {
  const auto begin = std::chrono::steady_clock::now();
  while (rig.has_left() < kernels &&
         std::chrono::steady_clock::now() - begin < std::chrono::minutes(1))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(rig.has_left() >= kernels);
}

void move_both_ways(Rig& rig, std::initializer_list<std::size_t> slots, std::size_t bytes) {
  for (const std::size_t slot : slots)
    for (const int sender : {0, 1}) {
      rig.ring(sender, slot, bytes);
      rig.receive(sender, slot, bytes);
      CHECK(rig.all_there(sender));
    }
  CHECK_FALSE(rig.wrong(0));
  CHECK_FALSE(rig.wrong(1));
}

}  // namespace

TEST_CASE("the work is divided as the device is large") {
  CHECK(ResidentShape::of(1, 64).blocks == 2);
  CHECK(ResidentShape::of(20, 64).blocks == 17);
  const ResidentShape shape = ResidentShape::of(132, 64);
  CHECK(shape.blocks == 129);
  CHECK(shape.parts(0) == 1);
  CHECK(shape.parts(32768) == 1);
  CHECK(shape.parts(32769) == 2);
  CHECK(shape.parts(std::size_t{1} << 30) == ResidentQueue::kMostParts);
  CHECK(ResidentShape{.blocks = 1, .stride = 64}.parts(1 << 30) == 1);
  CHECK(ResidentShape{.blocks = 4, .stride = 64}.parts(1 << 30) == 3);
}

TEST_CASE("a resident kernel moves messages of every size both ways, and nothing beside them") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  for (const unsigned blocks : {1u, 2u, 4u})
    for (const std::size_t bytes : {1u, 7u, 8u, 9u, 64u, 4097u, 32769u, 200001u}) {
      Rig rig(device, bytes, 3, BufferKind::kDevice, blocks);
      move_both_ways(rig, {2, 0, 1}, bytes);
    }
}

TEST_CASE("short messages of host memory go in the bell, or come with the arrival") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  for (const std::size_t bytes : {1u, 5u, 8u, 16u}) {
    Rig rig(cuda->device(0), bytes, 2, BufferKind::kPinned);
    move_both_ways(rig, {0, 1}, bytes);
  }
}

TEST_CASE("many messages are open at once, of different sizes, and bells are used again") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  constexpr std::size_t kBytes = 40000;
  constexpr std::size_t kSlots = 100;
  Rig rig(cuda->device(0), kBytes, kSlots);
  const auto bytes_of = [](std::size_t i) { return i % 10 == 3 ? kBytes : i % 5 == 0 ? 0 : 8; };
  for (int round = 0; round < 7; ++round) {
    for (std::size_t i = 0; i < kSlots; ++i)
      for (const int sender : {0, 1}) rig.ring(sender, i, bytes_of(i));
    for (std::size_t i = 0; i < kSlots; ++i)
      for (const int sender : {0, 1}) rig.receive(sender, i, bytes_of(i));
  }
  for (const int end : {0, 1})
    for (std::size_t i = 0; i < kSlots; ++i) {
      std::vector<char> got(kBytes), sent(kBytes);
      cuda->device(0).copy(got.data(), rig.in(end).slot(i), kBytes);
      cuda->device(0).copy(sent.data(), rig.out(1 - end).slot(i), kBytes);
      CHECK(std::memcmp(got.data(), sent.data(), bytes_of(i)) == 0);
      CHECK(std::memcmp(got.data(), sent.data(), kBytes) != (bytes_of(i) == kBytes ? 1 : 0));
    }
}

TEST_CASE("an idle kernel leaves, and comes back for the next bell") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Rig rig(cuda->device(0), 64, 2, BufferKind::kDevice, 2, 20'000'000);
  for (const std::size_t slot : {0u, 1u}) {
    for (const int sender : {0, 1}) {
      rig.ring(sender, slot, 64);
      rig.receive(sender, slot, 64);
    }
    wait_until_left(rig, slot + 1);
  }
  CHECK_FALSE(rig.wrong(0));
  CHECK_FALSE(rig.wrong(1));
}

TEST_CASE(
    "a kernel that has left is asked again and again until a bell rings, and then comes back") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Rig rig(cuda->device(0), 64, 4, BufferKind::kDevice, 2, 20'000'000);
  for (const std::size_t slot : {1u, 2u, 3u}) {
    rig.ring(0, slot, 64);
    rig.receive(0, slot, 64);
    wait_until_left(rig, slot);
    for (int i = 0; i < 3; ++i) rig.keep();
  }
}

TEST_CASE("a kernel that has told one direction alone is asked again") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Rig rig(cuda->device(0), 64, 3, BufferKind::kDevice, 2, 20'000'000);
  for (const std::size_t slot : {1u, 2u}) {
    rig.ring(0, slot, 64);
    rig.receive(0, slot, 64);
    wait_until_left(rig, slot);
  }
  rig.ring(0, 0, 64);
  const std::uint64_t told = rig.left(1).exchange(0);
  rig.keep();
  rig.left(1) = told;
  rig.receive(0, 0, 64);
}

TEST_CASE("a kernel that serves no bell is an error and no hang") {
  const FakeCudaWithKernels fake;
  const Variable defect("NEARPEAK_FAKE_NVRTC", "bell.w >> 8 == mark=>false");
  const auto cuda = FakeCuda::load();
  Rig rig(cuda->device(0), 64, 1, BufferKind::kDevice, 2, 20'000'000);
  rig.ring(0, 0, 64);
  CHECK_THROWS_WITH_AS(rig.receive(0, 0, 64),
                       "the resident kernel left without having served a bell", AcceleratorError);
}

TEST_CASE("what a faulty kernel moves is seen") {
  const FakeCudaWithKernels fake;
  const Variable defect("NEARPEAK_FAKE_NVRTC",
                        "wide_to[i + j * step] = part[j];=>wide_to[i + j * step] = part[0];");
  const auto cuda = FakeCuda::load();
  Rig rig(cuda->device(0), 4096, 1);
  rig.ring(1, 0, 4096);
  rig.receive(1, 0, 4096);
  CHECK(rig.wrong(0));
}
