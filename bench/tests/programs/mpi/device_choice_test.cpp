// SPDX-License-Identifier: Apache-2.0
#include "programs/mpi/device_choice.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "options/options.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

const Kinds kDeviceDevice("D,D");
const Kinds kHostPinned("H,P");

// This process as a rank of two, on one host.
struct AsRank {
  explicit AsRank(const std::string& number)
      : rank("PMI_RANK", number), local("OMPI_COMM_WORLD_LOCAL_RANK", number) {}
  Variable rank;
  Variable local;
};

int taken(const std::string& rank, const std::string& devices, const Kinds& kinds) {
  const AsRank self(rank);
  const DeviceChoice choice({kinds}, parse_devices(devices));
  return choice.device() == nullptr ? -1 : choice.device()->info().index;
}

int current_gpu() {
  void* const driver = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  int gpu = -1;
  REQUIRE(reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuCtxGetDevice"))(&gpu) == 0);
  dlclose(driver);
  return gpu;
}

}  // namespace

TEST_CASE("--buffers is one letter for all, one for each half, or one for each rank") {
  CHECK(Kinds("D").of(5, 8) == BufferKind::kDevice);
  CHECK_FALSE(Kinds("D").differ());
  CHECK(Kinds("H,P").of(0, 2) == BufferKind::kHost);
  CHECK(Kinds("H,P").of(1, 4) == BufferKind::kHost);
  CHECK(Kinds("H,P").of(2, 4) == BufferKind::kPinned);
  CHECK(Kinds("H,H,M").of(2, 3) == BufferKind::kManaged);
  CHECK_NOTHROW(Kinds("D").check(7));
  CHECK_NOTHROW(Kinds("H,H").check(3));
  CHECK_NOTHROW(Kinds("H,D").check(6));
  CHECK_NOTHROW(Kinds("H,D,M").check(3));
  CHECK_THROWS_AS(Kinds("H,D").check(3), BadInput);
  CHECK_THROWS_AS(Kinds("H,D,M").check(2), BadInput);
  for (const char* bad : {"", "D,", "DD,D", "D;D", "d,d"}) CHECK_THROWS_AS(Kinds{bad}, BadInput);
}

TEST_CASE("kinds of buffers can be seen from the last rank") {
  CHECK(Kinds("H,D").reversed().text() == "D,H");
  CHECK(Kinds("H,D").reversed().of(1, 4) == BufferKind::kDevice);
  CHECK(Kinds("H,H,M").reversed().of(0, 3) == BufferKind::kManaged);
  CHECK(Kinds("D").reversed().text() == "D");
}

TEST_CASE("--devices is one for each rank or one for all, of a backend or of any") {
  const auto two = parse_devices("1,GPU-ab");
  CHECK(two[0].device == "1");
  CHECK(two[1].device == "GPU-ab");
  CHECK(two[0].backend.empty());
  CHECK(parse_devices("cuda:3")[0].device == "3");
  CHECK(parse_devices("-,0")[0].none);
  CHECK(parse_devices("")[0].device.empty());
  const auto rows = parse_devices("-*2,cuda:1*3,2");
  REQUIRE(rows.size() == 6);
  CHECK(rows[1].none);
  CHECK(rows[2].device == "1");
  CHECK(rows[4].backend == "cuda");
  CHECK(rows[5].device == "2");
  for (const char* bad : {",", "0,", "cuda:", "abacus:0"})
    CHECK_THROWS_AS(parse_devices(bad), BadInput);
}

TEST_CASE("more ranks than two take devices where all have the same kind of buffers") {
  const FakeCuda fake;
  CHECK(taken("2", "", Kinds("D")) == 0);
  CHECK(taken("3", "0,1,0,1", Kinds("D")) == 1);
  const Variable four("PMI_SIZE", "4");
  CHECK(taken("1", "", Kinds("H,D")) == -1);
  CHECK(taken("3", "", Kinds("H,D")) == 1);
}

TEST_CASE("a rank takes its own device, and none where it needs none") {
  const FakeCuda fake;
  CHECK(taken("0", "", kDeviceDevice) == 0);
  CHECK(taken("1", "", kDeviceDevice) == 1);
  CHECK(taken("1", "0", kDeviceDevice) == 0);
  CHECK(taken("0", "1,0", kDeviceDevice) == 1);
  CHECK(taken("0", "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1,0", kDeviceDevice) == 1);
  CHECK(taken("0", "", kHostPinned) == -1);
  CHECK(taken("0", "-,1", kHostPinned) == -1);
  CHECK(taken("0", "0,1", kHostPinned) == 0);  // named for it, so taken
  CHECK(taken("1", "0,1", kHostPinned) == 1);
  CHECK(taken("2", "", kDeviceDevice) == -1);  // too many ranks is said elsewhere
  CHECK_THROWS_AS(taken("1", "0,-", kDeviceDevice), BadInput);
}

TEST_CASE("local ranks beyond the devices begin again") {
  const FakeCuda fake("devices=1");
  CHECK(taken("1", "", kDeviceDevice) == 0);
}

TEST_CASE("a rank's memory is of its kind, and its device is named in the records") {
  const FakeCuda fake;
  const AsRank self("1");
  const DeviceChoice choice({kDeviceDevice}, parse_devices(""));
  CHECK(&choice.memory(BufferKind::kHost) == &host_memory());
  CHECK(&choice.memory(BufferKind::kDevice) == &choice.device()->memory(BufferKind::kDevice));
  REQUIRE(choice.place());
  CHECK(choice.place()->name == "Fake GPU B");
  CHECK(choice.rank() == 1);
  CHECK(choice.asked() == "1 by its place");
}

TEST_CASE("the taken device becomes current again after something else made another one current") {
  const FakeCuda fake;
  const AsRank self("1");
  const DeviceChoice choice({kHostPinned}, parse_devices("0,1"));
  const auto other = FakeCuda::load();
  other->device(0).use_in_this_thread();
  REQUIRE(current_gpu() == 0);
  choice.use_in_this_thread();
  CHECK(current_gpu() == 1);
}

TEST_CASE("host memory needs no launcher and no driver") {
  const FakeCuda none("", "/nowhere/libcuda.so");
  const DeviceChoice choice({Kinds("H,H")}, parse_devices(""));
  CHECK(choice.device() == nullptr);
  CHECK(!choice.place());
}

TEST_CASE("a missing driver is said with what needs it") {
  const FakeCuda none("", "/nowhere/libcuda.so");
  const AsRank self("0");
  CHECK_THROWS_WITH_AS(DeviceChoice({kDeviceDevice}, parse_devices("")),
                       doctest::Contains("buffers other than H need a device, and cuda has none"),
                       BackendUnavailable);
}

TEST_CASE("an unknown device is said with those that are visible, and what hides others") {
  const FakeCuda fake;
  const AsRank self("0");
  const Variable visible("CUDA_VISIBLE_DEVICES", "3,4");
  CHECK_THROWS_WITH_AS(DeviceChoice({kDeviceDevice}, parse_devices("GPU-12")),
                       doctest::Contains("; CUDA_VISIBLE_DEVICES is '3,4'"), BadInput);
}
