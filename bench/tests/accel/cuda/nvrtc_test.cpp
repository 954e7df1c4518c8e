// SPDX-License-Identifier: Apache-2.0
#include "accel/cuda/nvrtc.hpp"

#include <doctest/doctest.h>

#include "tests/accel/fake.hpp"
#include "tests/accel/kernels/kernels.hpp"

using namespace nearpeak;

TEST_CASE("what the real compiler refuses is told with its log") {
  const std::string library = find_nvrtc();
  if (library.empty()) {
    MESSAGE("skipped: NVRTC is not here");
    return;
  }
  const Variable chosen("NEARPEAK_NVRTC_LIBRARY", library);
  const cuda::Nvrtc nvrtc;
  CHECK_THROWS_WITH_AS(nvrtc.compile("__global__ void broken() { nonsense; }", 9, 0),
                       doctest::Contains("nonsense"), AcceleratorError);
  CHECK_THROWS_AS(nvrtc.compile("__global__ void empty() {}", 1, 0), AcceleratorError);
}

TEST_CASE("a library that is no NVRTC is a reason") {
  const Variable chosen("NEARPEAK_NVRTC_LIBRARY", "libm.so.6");
  CHECK_THROWS_WITH_AS(cuda::Nvrtc(), "libm.so.6 is too old: it has no nvrtcGetErrorString",
                       BackendUnavailable);
}
