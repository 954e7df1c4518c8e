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
    CHECK_THROWS_AS(devices.locate(&mine), AcceleratorError);
    // The same again is not asked for again.
    const IpcHandle handle = devices.handle_of(found);
    CHECK(handle.bytes == devices.handle_of(found).bytes);
    const int before = count_of(FAKE_CUDA, "fake_cuda_questions");
    const Found again = devices.find(plain.slot(0) + 7);
    CHECK(again.allocation == found.allocation);
    CHECK(again.context == found.context);
    const Located& place = devices.locate(plain.slot(0) + 7, again);
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
