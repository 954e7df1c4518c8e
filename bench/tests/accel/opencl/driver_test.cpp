// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/driver.hpp"

#include <doctest/doctest.h>

#include "tests/accel/opencl/opencl.hpp"

using namespace nearpeak;

TEST_CASE("OpenCL: errors have their names") {
  CHECK(opencl::error_name(-5) == "CL_OUT_OF_RESOURCES");
  CHECK(opencl::error_name(-9999) == "error -9999");
}

// Run in a process of its own by the test below it: the loader looks for drivers once.
TEST_CASE("OpenCL says why it cannot be used" * doctest::skip()) {
  const char* expected = std::getenv("NEARPEAK_TEST_REASON");
  if (expected == nullptr) return;
  CHECK_THROWS_WITH_AS(load_opencl(), expected, BackendUnavailable);
}

TEST_CASE("OpenCL: each reason for not taking it is one line") {
  SUBCASE("no library") {
    const Variable library("NEARPEAK_OPENCL_LIBRARY", "/nowhere/libOpenCL.so.1");
    CHECK_THROWS_WITH_AS(load_opencl(),
                         "/nowhere/libOpenCL.so.1 cannot be loaded: /nowhere/libOpenCL.so.1: "
                         "cannot open shared object file: No such file or directory",
                         BackendUnavailable);
  }
  SUBCASE("a library that is no OpenCL") {
    const Variable library("NEARPEAK_OPENCL_LIBRARY", "libm.so.6");
    CHECK_THROWS_WITH_AS(load_opencl(),
                         "libm.so.6 is older than OpenCL 1.2: it has no clGetPlatformIDs",
                         BackendUnavailable);
  }
  SUBCASE("no driver") {
    if (!has_opencl()) return;
    const Variable vendors("OCL_ICD_VENDORS", "/nowhere/");
    const Variable reason(
        "NEARPEAK_TEST_REASON",
        "there is no OpenCL platform: no driver is installed (/etc/OpenCL/vendors)");
    CHECK(run_program({"/proc/self/exe", "--no-skip", "--minimal",
                       "--test-case=OpenCL says why it cannot be used"}) == 0);
  }
}
