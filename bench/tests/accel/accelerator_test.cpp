// SPDX-License-Identifier: Apache-2.0
#include "accel/accelerator.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "options/options.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

TEST_CASE("backends are known by name, in order") {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) names.push_back(backend.name);
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"cuda", "opencl"})
    CHECK(std::count(names.begin(), names.end(), name) == 1);
}

TEST_CASE("UUIDs and PCI addresses are written in one way") {
  unsigned char uuid[16];
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(17 * i);
  CHECK(uuid_text(uuid) == "GPU-00112233-4455-6677-8899-aabbccddeeff");
  CHECK(pci_text(0x10, 0xc1, 2, 0) == "00000010:c1:02.0");
}

TEST_CASE("kinds of buffers have letters") {
  CHECK(buffer_kind('H') == BufferKind::kHost);
  CHECK(buffer_kind('P') == BufferKind::kPinned);
  CHECK(buffer_kind('D') == BufferKind::kDevice);
  CHECK(buffer_kind('M') == BufferKind::kManaged);
  CHECK_THROWS_WITH_AS(buffer_kind('X'),
                       "unknown kind of buffer 'X': give H (host), P (pinned host), D (device) or "
                       "M (managed)",
                       BadInput);
}

TEST_CASE("a device is found by index and by UUID") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  CHECK(cuda->find_device("1") == 1);
  CHECK(cuda->find_device("GPU-01112131-4151-6171-8191-a1b1c1d1e1f1") == 1);
  CHECK(cuda->find_device("gpu-00102030-4050-6070-8090-A0B0C0D0E0F0") == 0);
  CHECK_THROWS_WITH_AS(cuda->find_device("2"),
                       "there is no device '2': give the index or the UUID of one of "
                       "0 (GPU-00102030-4050-6070-8090-a0b0c0d0e0f0), "
                       "1 (GPU-01112131-4151-6171-8191-a1b1c1d1e1f1)",
                       BadInput);
}

TEST_CASE("out of memory is a bad_alloc that says what was asked for") {
  const AcceleratorOutOfMemory error("cuMemAlloc_v2(8 B)");
  const std::bad_alloc& base = error;
  CHECK(std::string(base.what()) == "cuMemAlloc_v2(8 B)");
}
