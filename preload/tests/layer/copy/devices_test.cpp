// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/devices.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

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
    static int data = 0;
    const int asked = count_of(FAKE_CUDA, "fake_cuda_questions");
    CHECK_FALSE(devices.find(&data).on_device);  // the driver is not asked
    CHECK(count_of(FAKE_CUDA, "fake_cuda_questions") == asked);
  }
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
    const Exported exported = devices.handle_of(found);
    CHECK(exported.base == reinterpret_cast<std::uint64_t>(found.base));
    CHECK(exported.bytes == found.bytes);
    CHECK(exported.handle.bytes == devices.handle_of(found).handle.bytes);
    const int before = count_of(FAKE_CUDA, "fake_cuda_questions");
    const Found again = devices.find(plain.slot(0) + 7);
    CHECK(again.allocation == found.allocation);
    const Located place = devices.locate(again);
    CHECK(place.base == found.base);
    devices.copy_to_host(place, &mine, plain.slot(0) + 7, sizeof(mine));
    CHECK(count_of(FAKE_CUDA, "fake_cuda_questions") == before + 1);
    // Where it was is an allocation of another kind: the number is another one.
    const SlotBuffer other(device.memory(BufferKind::kDevice), 1000, 1);
    CHECK(devices.find(other.slot(0)).allocation != found.allocation);
    CHECK(devices.in_one_piece(again, devices.find(plain.slot(0) + 900)));
    CHECK_FALSE(devices.in_one_piece(again, devices.find(other.slot(0))));
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
  while (!devices.device_of(1).kernels()->persistent_copy_ready()) usleep(100);
  bool good = true;
  for (int i = 0; i < count; ++i) {
    int got = 0;
    devices.copy_to_device(place, memory.slot(0) + 4, &i, sizeof(i));
    devices.copy_to_host(place, &got, memory.slot(0) + 4, sizeof(got));
    good = good && got == i;
  }
  CHECK(good);
  devices.close_all();
  return devices.short_copies();
}

TEST_CASE("devices of the layer: after a reset of a device nothing of before is used") {
  const FakeCuda fake;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  int abandoned = -1, again = -1;
  devices.when_reset([&](int device) { abandoned = device; }, [&](int device) { again = device; });
  const auto reset = [](int device) {
    void* const driver = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<int (*)(int)>(dlsym(driver, "cuDevicePrimaryCtxReset_v2"))(device);
  };
  const auto use = [&] {
    const auto cuda = FakeCuda::load();  // of the application
    SlotBuffer buffer(cuda->device(1).memory(BufferKind::kDevice), 1000, 1);
    const Located place = devices.locate(buffer.slot(0));
    std::array<char, 1000> out{}, in{};
    out.fill('x');
    devices.copy_to_device(place, std::vector<Piece>{{buffer.slot(0), out.data(), 500},
                                                     {buffer.slot(0) + 500, out.data(), 500}});
    devices.wait_copy(devices.begin_copy(place, buffer.slot(0), buffer.slot(0), 100));
    const Scratch scratch = devices.scratch(1, 1000);
    devices.copy_between_devices(place, {{scratch.data(), buffer.slot(0), 1000}});
    devices.copy_to_host(place, in.data(), scratch.data(), 1000);
    CHECK(in == out);
  };
  use();
  CHECK(abandoned == -1);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(reset(1) == 0);
    use();
    CHECK(std::exchange(abandoned, -1) == 1);
    CHECK(std::exchange(again, -1) == 1);
  }
  // Each look asks once.
  for (int i = 0; i < 2; ++i) {
    REQUIRE(reset(1) == 0);
    const Devices::Look look(devices);
    use();
    use();
    CHECK(std::exchange(abandoned, -1) == 1);
    CHECK(std::exchange(again, -1) == 1);
  }
  {
    // Room of before goes nowhere, though room of afterwards may have its address.
    const auto cuda = FakeCuda::load();
    SlotBuffer buffer(cuda->device(1).memory(BufferKind::kDevice), 1000, 1);
    Scratch before = devices.scratch(1, 1000);
    REQUIRE(reset(1) == 0);
    const Scratch after = devices.scratch(1, 1000);
    before = Scratch();
    CHECK(devices.scratch(1, 1000).data() != after.data());
  }
  REQUIRE(reset(1) == 0);
  devices.close_all();
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
    while (!devices.device_of(0).kernels()->persistent_copy_ready()) usleep(100);
    for (int i = 0; i < 20'000 && devices.short_copies().carried == 0; ++i)
      devices.copy_to_device(place, memory.slot(0), &i, sizeof(i));
    CHECK(devices.short_copies().carried > 0);
    CHECK(devices.reduces(place, Combination{}, std::size_t{1} << 20));
  }
  devices.close_all();
}

TEST_CASE("devices of the layer: a copy may begin in pinned memory of the host and end behind it") {
  constexpr std::size_t kPage = 4096, kBytes = 10 * kPage;
  const FakeCuda fake;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const SlotBuffer memory(device.memory(BufferKind::kDevice), kBytes, 1);
  const Located place = devices.locate(memory.slot(0));
  const std::unique_ptr<void, decltype(&std::free)> pages(std::aligned_alloc(kPage, kBytes + kPage),
                                                          std::free);
  char* const host = static_cast<char*>(pages.get()) + 3;
  std::memset(pages.get(), 'a', kBytes + kPage);
  const auto pinned = device.registration()->register_memory(pages.get(), 2 * kPage);
  CHECK_THROWS_AS(device.copy(memory.slot(0), host, kBytes), AcceleratorError);
  devices.copy_to_device(place, memory.slot(0), host, kBytes);
  std::memset(host, 'b', kBytes);
  devices.copy_to_host(place, host, memory.slot(0), kBytes);
  CHECK(std::count(host, host + kBytes, 'a') == kBytes);
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
      lanes[i] = devices.begin_copy(place, memory.slot(2 * i + 1), memory.slot(2 * i), 1000);
    }
    CHECK_FALSE(devices.copy_ended(lanes[1]));
    for (std::size_t i = lanes.size(); i-- > 0;) {
      devices.wait_copy(lanes[i]);
      CHECK(devices.copy_ended(lanes[i]));
      std::vector<char> got(1000);
      device.copy(got.data(), memory.slot(2 * i + 1), got.size());
      CHECK(got == std::vector<char>(1000, static_cast<char>('a' + 10 * round + i)));
    }
  }
  // Or any number, of which all are awaited.
  const std::size_t last = 2 * Devices::kLanes - 1;
  for (std::size_t i = 0; i < last; ++i)
    devices.begin_copy_between_devices(place, memory.slot(i + 1), memory.slot(0), 1000);
  devices.await_begun();
  std::vector<char> got(1000);
  device.copy(got.data(), memory.slot(last), got.size());
  CHECK(got == std::vector<char>(1000, 'k'));
  // Those that belong together are done at the end of the call, each in another of the streams.
  Devices other;
  REQUIRE(other.load(why));
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < last; ++i)
    pieces.push_back({memory.slot(i), memory.slot(last), 10 * i});
  device.copy(memory.slot(last), std::vector<char>(1000, 'z').data(), 1000);
  other.copy_to_host(place, got.data(), memory.slot(0), 1);
  const int live = FakeCuda::live();
  other.copy_between_devices(place, pieces);
  CHECK(FakeCuda::live() == live + static_cast<int>(Devices::kLanes));
  device.copy(got.data(), memory.slot(3), got.size());
  CHECK(std::count(got.begin(), got.end(), 'z') == 30);
  other.close_all();
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
    devices.copy_to_host(packed.place(), got.data(), packed.data(), got.size());
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
    Exported exported;
    std::uint64_t allocation = 0;
  };
  // So many bytes, one behind the other.
  explicit Owner(const std::vector<std::size_t>& sizes = {4096}, const char* settings = "") {
    child_ = fork();
    if (child_ != 0) return;
    setenv("NEARPEAK_CUDA_LIBRARY", FAKE_CUDA_FORKED, 1);
    setenv("NEARPEAK_FAKE_CUDA", settings, 1);
    auto cuda = FakeCuda::load();
    Device& device = cuda->device(0);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto* const memory =
          static_cast<char*>(device.memory(BufferKind::kDevice).allocate(sizes[i]));
      const std::array<char, 5> text{"data"};
      device.copy(memory + 100, text.data(), text.size());
      Exported exported{.base = reinterpret_cast<std::uint64_t>(memory), .bytes = sizes[i]};
      exported.handle = device.ipc()->export_memory(memory);
      all().offers.at(i) = {exported, cuda->locate(memory)->allocation};
    }
    std::atomic_ref(all().ready).store(true);
    for (;;) pause();
  }
  ~Owner() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  const Offer& offered(std::size_t i = 0) {
    while (!std::atomic_ref(all().ready).load()) usleep(100);
    return all().offers.at(i);
  }

 private:
  struct All {
    std::array<Offer, 4> offers;
    bool ready = false;
  };
  All& all() { return *reinterpret_cast<All*>(memory_.data()); }

  SharedMemory memory_{sizeof(All)};
  pid_t child_ = 0;
};

// Another allocation of the same process.
Exported beside(const Exported& exported, std::uint64_t i) {
  Exported other = exported;
  other.base += i * exported.bytes;
  return other;
}

TEST_CASE("devices of the layer: an allocation of another process is opened once") {
  const FakeCuda fake;
  Owner owner;
  const Owner::Offer& offer = owner.offered();
  {
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    char* const there = devices.opened(0, 3, offer.allocation, offer.exported);
    const int live = FakeCuda::live();
    CHECK(devices.opened(0, 3, offer.allocation, offer.exported) == there);
    CHECK(FakeCuda::live() == live);
    std::array<char, 5> text{};
    devices.copy_to_host(Devices::place_of_opened(0), text.data(), there + 100, text.size());
    CHECK(std::strcmp(text.data(), "data") == 0);
    // By another device, or another allocation: another place. At some point those that were not
    // used for longest are closed.
    char* const by_another = devices.opened(1, 3, offer.allocation, offer.exported);
    CHECK(by_another != there);
    CHECK(devices.opened(0, 3, offer.allocation, offer.exported) == there);
    devices.close(3, offer.allocation);
    const int none = FakeCuda::live();
    for (std::uint64_t i = 0; i < 70; ++i)
      devices.opened(0, 3, offer.allocation + i, beside(offer.exported, i));
    CHECK(FakeCuda::live() == none + 64);
    devices.close_all();
    CHECK(FakeCuda::live() == none);
  }
}

// As CUDA_VISIBLE_DEVICES has it, which may leave each process a device of its own.
TEST_CASE("devices of the layer: memory of a device that is not seen may be opened") {
  for (const bool withheld : {false, true}) {
    const FakeCuda fake(withheld ? "visible=0,withheld=1" : "visible=0");
    Owner owner({4096}, "visible=1");
    const Owner::Offer& offer = owner.offered();
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    CHECK(devices.opens(0, offer.exported.handle) == !withheld);
    CHECK_FALSE(devices.opens(0, IpcHandle{}));
    const int live = FakeCuda::live();
    CHECK(devices.opens(0, offer.exported.handle) == !withheld);
    CHECK(FakeCuda::live() == live);
    if (withheld) continue;
    char* const there = devices.opened(0, 3, offer.allocation, offer.exported);
    CHECK(devices.opens(0, offer.exported.handle));
    std::array<char, 5> text{};
    devices.copy_to_host(Devices::place_of_opened(0), text.data(), there + 100, text.size());
    CHECK(std::strcmp(text.data(), "data") == 0);
    devices.close_all();
  }
}

TEST_CASE("devices of the layer: what its owner has freed is closed") {
  const FakeCuda fake;
  Owner owner;
  const Owner::Offer& offer = owner.offered();
  {
    Freed freed;
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    devices.tell_of_freed([&](std::uint32_t) { return &freed; }, 0);
    devices.opened(0, 3, offer.allocation, offer.exported);
    const int live = FakeCuda::live();
    // Something else is where it was,
    devices.opened(0, 3, offer.allocation + 1, offer.exported);
    CHECK(FakeCuda::live() == live);
    // or the owner says so.
    freed.add(offer.allocation + 1);
    devices.opened(0, 3, offer.allocation + 2, beside(offer.exported, 1));
    CHECK(FakeCuda::live() == live);
    devices.close_all();
  }
}

TEST_CASE("devices of the layer: an owner finds what the application has freed") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Memory& memory = cuda->device(0).memory(BufferKind::kDevice);
  Freed freed;
  Devices devices;
  std::string why;
  REQUIRE(devices.load(why));
  devices.tell_of_freed([&](std::uint32_t) { return &freed; }, 0);
  const auto given = [&](const SlotBuffer& buffer) {
    const Located place = devices.locate(buffer.slot(0));
    devices.handle_of(place);
    return place.allocation;
  };
  auto told = [&, seen = std::uint64_t{0}]() mutable {
    std::vector<std::uint64_t> all;
    freed.each_since(seen, [&](std::uint64_t allocation) { all.push_back(allocation); });
    return all;
  };
  using All = std::vector<std::uint64_t>;
  const SlotBuffer stays(memory, 1000, 1);
  std::uint64_t first = 0, second = 0;
  {
    const SlotBuffer one(memory, 1000, 1), other(memory, 1000, 1);
    given(stays);
    first = given(one);
    second = given(other);
    CHECK(told().empty());
  }
  // When it gives others something new, and at times.
  const SlotBuffer fresh(memory, 1000, 1);
  given(fresh);
  CHECK(told() == All{first, second});
  CHECK(told().empty());
  std::uint64_t third = 0;
  {
    const SlotBuffer one(memory, 1000, 1);
    third = given(one);
  }
  for (int i = 0; i < 100; ++i) given(stays);
  CHECK(told() == All{third});
}

TEST_CASE("devices of the layer: much memory of others that is not used is closed") {
  const FakeCuda fake;
  Owner owner;
  const Owner::Offer& offer = owner.offered();
  {
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    const int none = [&] {
      devices.opened(0, 3, offer.allocation, offer.exported);
      devices.close(3, offer.allocation);
      return FakeCuda::live();
    }();
    // The device has 1 GiB, of which a sixteenth is 64 MiB.
    Exported much = offer.exported;
    much.bytes = std::size_t{20} << 20;
    const auto use = [&](std::uint64_t i) {
      return devices.opened(0, 3, offer.allocation + i, beside(much, i));
    };
    for (std::uint64_t i = 0; i < 8; ++i) use(i);
    CHECK(FakeCuda::live() == none + 8);  // all were used just now
    for (int i = 0; i < 300; ++i) use(7);
    use(8);
    CHECK(FakeCuda::live() == none + 3);  // as many as there is room for
    for (int i = 0; i < 300; ++i) use(7);
    much.bytes = std::size_t{2} << 30;
    use(9);
    CHECK(FakeCuda::live() == none + 2);  // one that is used, and the newest
    devices.close_all();
  }
}

TEST_CASE("devices of the layer: of a block of small allocations one is open") {
  const FakeCuda fake("blocks=1");
  constexpr std::size_t kNoPart = std::size_t{4} << 20;  // of a block with others
  Owner owner({kNoPart, 4096, 4096}, "blocks=1");
  const auto& large = owner.offered(0);
  const auto& one = owner.offered(1);
  const auto& other = owner.offered(2);
  {
    Devices devices;
    std::string why;
    REQUIRE(devices.load(why));
    char* const apart = devices.opened(0, 3, large.allocation, large.exported);
    devices.opened(0, 3, one.allocation, one.exported);
    devices.opened(1, 3, one.allocation, one.exported);
    const int live = FakeCuda::live();
    // In the place of the one beside it, not of that which was not used for longest.
    char* const there = devices.opened(0, 3, other.allocation, other.exported);
    CHECK(FakeCuda::live() == live);
    std::array<char, 5> text{};
    devices.copy_to_host(Devices::place_of_opened(0), text.data(), there + 100, text.size());
    CHECK(std::strcmp(text.data(), "data") == 0);
    CHECK(devices.opened(0, 3, large.allocation, large.exported) == apart);
    CHECK(FakeCuda::live() == live);
    // What somebody else in this process has opened is not the layer's to close.
    CHECK_THROWS_AS(devices.opened(0, 4, one.allocation, one.exported), AcceleratorAlreadyMapped);
    devices.close_all();
  }
}

}  // namespace nearpeak::layer
