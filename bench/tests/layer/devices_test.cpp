// SPDX-License-Identifier: Apache-2.0
#include "layer/devices.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>

#include "group/shared.hpp"
#include "tests/accel/fake.hpp"

namespace nearpeak::layer {

TEST_CASE("devices of the layer: without a driver every buffer is the host's") {
  const Variable library("NEARPEAK_CUDA_LIBRARY", "/nowhere/libcuda.so");
  Devices devices;
  std::string why;
  CHECK_FALSE(devices.load(why));
  CHECK(why.substr(0, 45) == "/nowhere/libcuda.so cannot be loaded: /nowher");
  CHECK_FALSE(devices.find(&why).on_device);
}

TEST_CASE("devices of the layer: which memory the CPU does not reach") {
  const FakeCuda fake;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  int mine = 0;
  CHECK_FALSE(devices.find(&mine).on_device);  // the driver is not initialised
  {
    const auto cuda = FakeCuda::load();
    Device& device = cuda->device(1);
    SlotBuffer plain(device.memory(BufferKind::kDevice), 1000, 1);
    SlotBuffer pinned(device.memory(BufferKind::kPinned), 1000, 1);
    SlotBuffer managed(device.memory(BufferKind::kManaged), 1000, 1);
    CHECK(devices.find(plain.slot(0) + 999).on_device);
    CHECK_FALSE(devices.find(pinned.slot(0)).on_device);
    CHECK_FALSE(devices.find(managed.slot(0)).on_device);
    CHECK_FALSE(devices.find(&mine).on_device);
    CHECK_FALSE(devices.find(nullptr).on_device);
    const Located found = devices.locate(plain.slot(0) + 5);
    CHECK(found.device == 1);
    CHECK(found.base == plain.slot(0));
    CHECK(devices.reached_by(1, devices.uuid(0)));
    CHECK_FALSE(devices.reached_by(1, "GPU-of-another-container"));
    CHECK(devices.opens(1, devices.uuid(0)));
    CHECK_FALSE(devices.opens(1, "GPU-of-another-container"));
    CHECK(devices.seen(devices.uuid(1)) == 1);
    CHECK_THROWS_AS(devices.locate(&mine), AcceleratorError);
    // The same again is not asked for again.
    const IpcHandle handle = devices.handle_of(found);
    CHECK(handle.bytes == devices.handle_of(found).bytes);
    const int before = count_of(FAKE_CUDA, "fake_cuda_questions");
    const Found again = devices.find(plain.slot(0) + 7);
    CHECK(again.allocation == found.allocation);
    CHECK(again.context == found.context);
    const Located place = devices.locate(plain.slot(0) + 7, again);
    CHECK(place.base == found.base);
    devices.down(place, &mine, plain.slot(0) + 7, sizeof(mine));
    CHECK(count_of(FAKE_CUDA, "fake_cuda_questions") == before + 1);
    // Where it was is an allocation of another kind: the number is another one.
    const SlotBuffer other(device.memory(BufferKind::kDevice), 1000, 1);
    CHECK(devices.find(other.slot(0)).allocation != found.allocation);
  }
}

// So many short copies down and up again, of which all must be right.
Devices::Short short_copies(const std::string& nvrtc, bool alone, int count) {
  const FakeCuda fake("reachable=1", FAKE_CUDA, nvrtc);
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  devices.use_kernels(std::chrono::seconds(60), [alone](int) { return alone; });
  const auto cuda = FakeCuda::load();
  const SlotBuffer memory(cuda->device(1).memory(BufferKind::kDevice), 64, 1);
  const Located place = devices.locate(memory.slot(0));
  while (!devices.device(1).kernels()->courier_ready()) usleep(100);
  bool good = true;
  for (int i = 0; i < count; ++i) {
    int got = 0;
    devices.up(place, memory.slot(0) + 4, &i, sizeof(i));
    devices.down(place, &got, memory.slot(0) + 4, sizeof(got));
    good = good && got == i;
  }
  CHECK(good);
  devices.close_all();
  return devices.short_copies();
}

TEST_CASE("devices of the layer: many short copies are a kernel's") {
  const Devices::Short many = short_copies(FAKE_NVRTC, true, 20'000);
  CHECK(many.all == 40'000);
  CHECK(many.carried > 0);
  CHECK(many.carried < many.all);
  CHECK(short_copies(FAKE_NVRTC, true, 15).carried == 0);
}

TEST_CASE("devices of the layer: where no kernel can be, the copy engine copies") {
  const Devices::Short in_turns = short_copies(FAKE_NVRTC, false, 50);
  CHECK(in_turns.carried == 0);
  CHECK(in_turns.why_not == "processes that share the GPU take turns");
  const Devices::Short without = short_copies(kNoNvrtc, true, 50);
  CHECK(without.carried == 0);
  CHECK(without.why_not.substr(0, 40) == "/nowhere/libnvrtc.so cannot be loaded: /");
}

TEST_CASE("devices of the layer: kernels need no memory of a device that is busy") {
  const FakeCuda fake("reachable=1", FAKE_CUDA, FAKE_NVRTC);
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  devices.use_kernels(std::chrono::seconds(60), [](int) { return true; });
  const auto cuda = FakeCuda::load();
  const SlotBuffer memory(cuda->device(0).memory(BufferKind::kDevice), 64, 1);
  {
    // To take some would wait for all kernels of the device.
    const Variable none_left("NEARPEAK_FAKE_CUDA", "reachable=1,cuMemAlloc_v2:2");
    const Located place = devices.locate(memory.slot(0));
    while (!devices.device(0).kernels()->courier_ready()) usleep(100);
    for (int i = 0; i < 20'000; ++i) devices.up(place, memory.slot(0), &i, sizeof(i));
    CHECK(devices.short_copies().carried > 0);
    CHECK(devices.reduces(place, Combination{}, std::size_t{1} << 20));
  }
  devices.close_all();
}

TEST_CASE("devices of the layer: several long copies are under way at once") {
  const FakeCuda fake;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const SlotBuffer memory(device.memory(BufferKind::kDevice), 1000, 2 * Devices::kLanes);
  const Located place = devices.locate(memory.slot(0));
  for (int round = 0; round < 2; ++round) {
    std::array<std::size_t, Devices::kLanes> lanes{};
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const std::vector<char> text(1000, static_cast<char>('a' + 10 * round + i));
      device.copy(memory.slot(2 * i), text.data(), text.size());
      lanes[i] = devices.depart(place, memory.slot(2 * i + 1), memory.slot(2 * i), 1000);
    }
    CHECK_FALSE(devices.landed(lanes[1]));
    for (std::size_t i = lanes.size(); i-- > 0;) {
      devices.land(lanes[i]);
      CHECK(devices.landed(lanes[i]));
      std::vector<char> got(1000);
      device.copy(got.data(), memory.slot(2 * i + 1), got.size());
      CHECK(got == std::vector<char>(1000, static_cast<char>('a' + 10 * round + i)));
    }
  }
  // Or any number, of which all are awaited.
  const std::size_t last = 2 * Devices::kLanes - 1;
  for (std::size_t i = 0; i < last; ++i)
    devices.begin_across(place, memory.slot(i + 1), memory.slot(0), 1000);
  devices.await_begun();
  std::vector<char> got(1000);
  device.copy(got.data(), memory.slot(last), got.size());
  CHECK(got == std::vector<char>(1000, 'k'));
  devices.close_all();
}

TEST_CASE(
    "devices of the layer: what lies regularly is packed by a kernel, and the rest is untouched") {
  constexpr std::size_t kRoom = 100'000;
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  devices.use_kernels(std::chrono::microseconds(1), [](int) { return false; });
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const SlotBuffer memory(device.memory(BufferKind::kDevice), kRoom, 1);
  const Located place = devices.locate(memory.slot(0));
  Layout layout{.offset = 8, .block = 8, .levels = {{2000, 24}}};
  std::vector<char> data(kRoom), expected, got(layout.bytes());
  for (std::size_t i = 0; i < kRoom; ++i) data[i] = static_cast<char>(i * 131 + i / 251);
  for (std::uint64_t i = 0; i < layout.blocks(); ++i)
    expected.insert(expected.end(), data.data() + layout.place(i),
                    data.data() + layout.place(i) + 8);
  device.copy(memory.slot(0), data.data(), kRoom);
  {
    const Scratch packed = devices.pack(place, layout, memory.slot(0));
    REQUIRE(packed);
    devices.down(packed.place(), got.data(), packed.data(), got.size());
    CHECK(got == expected);
    // Half of it, backwards.
    for (auto& level : layout.levels) level.stride *= -1;
    layout.offset += 1999 * 24;
    REQUIRE(devices.unpack(place, layout, memory.slot(0), packed.place(), packed.data(), 8'004));
  }
  for (std::size_t i = 0; i < 8'004; ++i)
    data[static_cast<std::size_t>(layout.place(i / 8)) + i % 8] = expected[i];
  std::vector<char> all(kRoom);
  device.copy(all.data(), memory.slot(0), kRoom);
  CHECK(all == data);
  // From the host, packed and in place.
  std::vector<char> other(kRoom, 'x');
  REQUIRE(devices.unpack_from_host(place, layout, memory.slot(0), other.data(), 16));
  REQUIRE(devices.copy_from_host(place, {.offset = 3, .block = 5, .levels = {{100, 7}}},
                                 memory.slot(0), other.data()));
  for (int i = 0; i < 16; ++i) data[static_cast<std::size_t>(layout.place(i / 8)) + i % 8] = 'x';
  for (int i = 0; i < 500; ++i) data[3 + i / 5 * 7 + i % 5] = 'x';
  device.copy(all.data(), memory.slot(0), kRoom);
  CHECK(all == data);
  CHECK(devices.moved_by_kernel() == 4);
  // What was used is used again, and no more is taken than a device can give.
  const char* const before = devices.scratch(0, 100'000).data();
  CHECK(devices.scratch(0, 128 << 10).data() == before);
  CHECK_FALSE(devices.scratch(0, std::size_t{2} << 30));
  devices.close_all();
}

// A process that has memory of a device, and waits until it is ended.
class Owner {
 public:
  struct Offer {
    IpcHandle handle;
    std::uint64_t allocation = 0;
    bool ready = false;
  };
  Owner() {
    child_ = fork();
    if (child_ != 0) return;
    setenv("NEARPEAK_CUDA_LIBRARY", FAKE_CUDA_FORKED, 1);
    auto cuda = FakeCuda::load();
    Device& device = cuda->device(0);
    char* const memory = static_cast<char*>(device.memory(BufferKind::kDevice).allocate(4096));
    const std::array<char, 5> text{"data"};
    device.copy(memory + 100, text.data(), text.size());
    offer().handle = device.ipc()->export_memory(memory);
    offer().allocation = cuda->locate(memory)->allocation;
    std::atomic_ref(offer().ready).store(true);
    for (;;) pause();
  }
  ~Owner() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  const Offer& offered() {
    while (!std::atomic_ref(offer().ready).load()) usleep(100);
    return offer();
  }

 private:
  Offer& offer() { return *reinterpret_cast<Offer*>(memory_.data()); }

  SharedMemory memory_{sizeof(Offer)};
  pid_t child_ = 0;
};

TEST_CASE("devices of the layer: an allocation of another process is opened once") {
  const FakeCuda fake;
  Owner owner;
  const Owner::Offer& offer = owner.offered();
  {
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    char* const there = devices.opened(0, 3, offer.allocation, offer.handle);
    const int live = FakeCuda::live();
    CHECK(devices.opened(0, 3, offer.allocation, offer.handle) == there);
    CHECK(FakeCuda::live() == live);
    std::array<char, 5> text{};
    devices.down(Devices::place_of_opened(0), text.data(), there + 100, text.size());
    CHECK(std::strcmp(text.data(), "data") == 0);
    // Another allocation, if that has its place: it is another's name. At some point those that
    // were not used for longest are closed.
    char* const again = devices.opened(0, 3, offer.allocation + 1, offer.handle);
    CHECK(again != there);
    for (std::uint64_t i = 2; i < 70; ++i) devices.opened(0, 3, offer.allocation + i, offer.handle);
    CHECK(FakeCuda::live() == live + 63);
    devices.close_all();
    CHECK(FakeCuda::live() == live - 1);
  }
}

TEST_CASE("devices of the layer: of a block of small allocations one is open") {
  const FakeCuda fake("blocks=1");
  Owner owner;
  const Owner::Offer& offer = owner.offered();
  {
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    devices.opened(0, 3, offer.allocation, offer.handle);
    const int live = FakeCuda::live();
    char* const there = devices.opened(0, 3, offer.allocation + 1, offer.handle);
    CHECK(FakeCuda::live() == live);
    std::array<char, 5> text{};
    devices.down(Devices::place_of_opened(0), text.data(), there + 100, text.size());
    CHECK(std::strcmp(text.data(), "data") == 0);
    // What somebody else in this process has opened is not the layer's to close.
    CHECK_THROWS_AS(devices.opened(0, 4, offer.allocation, offer.handle), AcceleratorAlreadyMapped);
    devices.close_all();
  }
}

}  // namespace nearpeak::layer
