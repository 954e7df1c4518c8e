// SPDX-License-Identifier: Apache-2.0
#include "mpi/device_choice.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "options/options.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

const Kinds kDeviceDevice{BufferKind::kDevice, BufferKind::kDevice};
const Kinds kHostPinned{BufferKind::kHost, BufferKind::kPinned};

// This process as a rank of two, on one host.
struct AsRank {
  explicit AsRank(const std::string& number)
      : rank("PMI_RANK", number), local("OMPI_COMM_WORLD_LOCAL_RANK", number) {}
  Variable rank;
  Variable local;
};

int taken(const std::string& rank, const std::string& devices, const Kinds& kinds) {
  const AsRank self(rank);
  const DeviceChoice choice({kinds}, parse_devices(devices, 2));
  return choice.device() == nullptr ? -1 : choice.device()->info().index;
}

}  // namespace

TEST_CASE("--buffers is a letter for each rank") {
  CHECK(parse_kinds("D,D", 2) == kDeviceDevice);
  CHECK(parse_kinds("H,P", 2) == kHostPinned);
  CHECK(parse_kinds("M", 1) == Kinds{BufferKind::kManaged});
  for (const char* bad : {"", "D", "D,", "DD,D", "D,D,D", "D;D", "d,d"})
    CHECK_THROWS_AS(parse_kinds(bad, 2), BadInput);
}

TEST_CASE("--devices is one for each rank or one for all, of a backend or of cuda") {
  const auto two = parse_devices("1,GPU-ab", 2);
  CHECK(two[0].device == "1");
  CHECK(two[1].device == "GPU-ab");
  CHECK(two[0].backend == "cuda");
  CHECK(parse_devices("cuda:3", 2)[1].device == "3");
  CHECK(parse_devices("-,0", 2)[0].none);
  CHECK(parse_devices("", 2)[1].device.empty());
  for (const char* bad : {"0,1,2", ",", "0,", "cuda:", "abacus:0"})
    CHECK_THROWS_AS(parse_devices(bad, 2), BadInput);
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
  const DeviceChoice choice({kDeviceDevice}, parse_devices("", 2));
  CHECK(&choice.memory(BufferKind::kHost) == &host_memory());
  CHECK(&choice.memory(BufferKind::kDevice) == &choice.device()->memory(BufferKind::kDevice));
  REQUIRE(choice.place());
  CHECK(choice.place()->name == "Fake GPU B");
  CHECK(choice.rank() == 1);
  CHECK(choice.asked() == "1 by its place");
}

TEST_CASE("host memory needs no launcher and no driver") {
  const FakeCuda none("", "/nowhere/libcuda.so");
  const DeviceChoice choice({parse_kinds("H,H", 2)}, parse_devices("", 2));
  CHECK(choice.device() == nullptr);
  CHECK(!choice.place());
}

TEST_CASE("a missing driver is said with what needs it") {
  const FakeCuda none("", "/nowhere/libcuda.so");
  const AsRank self("0");
  CHECK_THROWS_WITH_AS(DeviceChoice({kDeviceDevice}, parse_devices("", 2)),
                       doctest::Contains("buffers other than H need a device, and cuda has none"),
                       BackendUnavailable);
}

TEST_CASE("an unknown device is said with those that are visible, and what hides others") {
  const FakeCuda fake;
  const AsRank self("0");
  const Variable visible("CUDA_VISIBLE_DEVICES", "3,4");
  CHECK_THROWS_WITH_AS(DeviceChoice({kDeviceDevice}, parse_devices("GPU-12", 2)),
                       doctest::Contains("; CUDA_VISIBLE_DEVICES is '3,4'"), BadInput);
}
