// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/driver.hpp"

#include <doctest/doctest.h>

#include "tests/accel/fake.hpp"

using namespace nearpeak;

TEST_CASE("a CUDA version is shown as people write it") {
  CHECK(cuda::version_text(13000) == "13.0");
  CHECK(cuda::version_text(12040) == "12.4");
}

TEST_CASE("an instance of MIG has the UUID that NVIDIA's tools show") {
  const FakeCuda fake("mig=1");
  const auto cuda = FakeCuda::load();
  CHECK(cuda->devices()[1].name == "Fake GPU B MIG 1g.5gb");
  CHECK(cuda->devices()[1].uuid == "MIG-01112131-4151-6171-8191-a1b1c1d1e1f1");
  CHECK(cuda->find_device("mig-01112131-4151-6171-8191-a1b1c1d1e1f1") == 1);
}

TEST_CASE("each reason for not taking the CUDA backend is one line") {
  SUBCASE("no driver") {
    const Variable library("NEARPEAK_CUDA_LIBRARY", "/nowhere/libcuda.so.1");
    CHECK_THROWS_WITH_AS(load_backend("cuda"),
                         "/nowhere/libcuda.so.1 cannot be loaded: /nowhere/libcuda.so.1: cannot "
                         "open shared object file: No such file or directory",
                         BackendUnavailable);
  }
  SUBCASE("a driver that lacks a symbol") {
    const FakeCuda fake("", FAKE_CUDA_OLD);
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "the driver is too old: " FAKE_CUDA_OLD " has no cuMemAllocManaged",
                         BackendUnavailable);
  }
  SUBCASE("a library that is no driver") {
    const FakeCuda fake("", "libm.so.6");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "the driver is too old: libm.so.6 has no cuDriverGetVersion",
                         BackendUnavailable);
  }
  SUBCASE("an old driver") {
    const FakeCuda fake("driver=10020");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "the driver is too old: it offers CUDA 10.2, 11.0 or newer is needed",
                         BackendUnavailable);
  }
  SUBCASE("a driver that does not say its version") {
    const FakeCuda fake("cuDriverGetVersion:999");
    CHECK_THROWS_WITH_AS(FakeCuda::load(), "cuDriverGetVersion of " FAKE_CUDA " failed",
                         BackendUnavailable);
  }
  SUBCASE("devices hidden by the environment") {
    const FakeCuda fake("cuInit:100");
    const Variable visible("CUDA_VISIBLE_DEVICES", "");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected; "
                         "CUDA_VISIBLE_DEVICES is ''",
                         BackendUnavailable);
  }
  SUBCASE("devices withheld") {
    const FakeCuda fake("cuInit:100");
    unsetenv("CUDA_VISIBLE_DEVICES");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected; were "
                         "this process's GPUs withheld by a job, container or cgroup?",
                         BackendUnavailable);
  }
  SUBCASE("MPS of another user") {
    const FakeCuda fake("cuInit:805");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "cuInit: error 805; a daemon of MPS is there that this process cannot "
                         "use, as another user's: have it ended, or set CUDA_MPS_PIPE_DIRECTORY to "
                         "an empty folder",
                         BackendUnavailable);
  }
  SUBCASE("an error that the driver has no name for") {
    const FakeCuda fake("cuInit:12345");
    CHECK_THROWS_WITH_AS(FakeCuda::load(), "cuInit: error 12345", BackendUnavailable);
  }
  SUBCASE("devices that cannot be counted") {
    const FakeCuda fake("cuDeviceGetCount:3");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "cuDeviceGetCount: CUDA_ERROR_NOT_INITIALIZED: initialization error",
                         BackendUnavailable);
  }
  SUBCASE("no device") {
    const FakeCuda fake("devices=0");
    CHECK_THROWS_WITH_AS(FakeCuda::load(), "the driver has no device", BackendUnavailable);
  }
  SUBCASE("no device that can be used") {
    const FakeCuda fake("devices=1,prohibited=0");
    CHECK_THROWS_WITH_AS(FakeCuda::load(),
                         "no device can be used; GPU 0: its compute mode is 'prohibited'",
                         BackendUnavailable);
  }
}
