// SPDX-License-Identifier: Apache-2.0
// The OpenACC backend: on its host device by the real libgomp, and on GPUs by a fake one over the
// fake CUDA driver.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <vector>

#include "tests/accel/fake.hpp"
#include "tests/accel/readable.hpp"

using namespace nearpeak;

namespace {

int gomp_taken() {
  void* const handle = dlopen(FAKE_GOMP, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  return reinterpret_cast<int (*)()>(dlsym(handle, "fake_gomp_taken"))();
}

}  // namespace

TEST_CASE("OpenACC: the host device gives memory, copies and queues") {
  if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    MESSAGE("skipped: libgomp.so.1 is not here");
    return;
  }
  const Variable library("NEARPEAK_OPENACC_LIBRARY", "libgomp.so.1");
  const Variable type("ACC_DEVICE_TYPE", "host");
  const auto openacc = load_backend("openacc");
  CHECK(openacc->version() == "libgomp, the host as its device");
  REQUIRE(openacc->devices().size() == 1);
  CHECK(openacc->find_device(openacc->devices()[0].uuid) == 0);
  Device& device = openacc->device(0);
  CHECK(why_no_kernels(device) == "this backend has no kernels");
  const auto stream = device.new_stream();
  const auto event = device.new_event();
  for (const std::size_t bytes : {0u, 1u, 5001u, 5u << 20}) {
    SlotBuffer from(device.memory(BufferKind::kDevice), bytes, 2);
    SlotBuffer to(device.memory(BufferKind::kDevice), bytes, 2);
    CHECK(reinterpret_cast<std::uintptr_t>(from.slot(0)) % 4096 == 0);
    from.poison(3);
    from.fill({3});
    to.poison(3);
    device.copy_async(to.slot(0), from.slot(0), from.layout().stride * 2, *stream);
    event->record(*stream);
    while (!event->reached()) {
    }
    const auto behind = device.new_background_stream();
    behind->wait_for(*stream);
    behind->synchronize();
    CHECK(stream->finished());
    stream->synchronize();
    CHECK(stream->finished());
    CHECK_FALSE(to.find_mismatch({3}));
    if (bytes == 0) continue;
    std::vector<char> host(bytes);
    to.memory().to_host(host.data(), to.slot(1), bytes);
    host.back() = static_cast<char>(~host.back());
    to.memory().from_host(to.slot(1), host.data(), bytes);
    const auto wrong = to.find_mismatch({3});
    REQUIRE(wrong);
    CHECK(wrong->slot == 1);
    CHECK(wrong->byte == bytes - 1);
  }
  CHECK_THROWS_WITH_AS(device.memory(BufferKind::kDevice).allocate(std::size_t{1} << 55),
                       "acc_malloc(36028797018963968 B) on device 0 gave no memory",
                       AcceleratorOutOfMemory);
  CHECK_THROWS_WITH_AS(device.memory(BufferKind::kManaged),
                       "OpenACC has no managed memory on the host as OpenACC's device",
                       AcceleratorError);
}

TEST_CASE("OpenACC: on GPUs acc_malloc's memory is that of CUDA's device, in its context") {
  const FakeCuda fake("", FAKE_CUDA, FAKE_NVRTC);
  {
    const Variable library("NEARPEAK_OPENACC_LIBRARY", FAKE_GOMP);
    const auto cuda = FakeCuda::load();
    const auto openacc = load_backend("openacc");
    REQUIRE(openacc->devices().size() == 2);
    for (const int index : {1, 0}) {
      Device& device = openacc->device(index);
      CHECK(device.info().uuid == cuda->devices()[index].uuid);
      CHECK(device.info().pci == cuda->devices()[index].pci);
      CHECK(why_no_kernels(device).empty());
      SlotBuffer memory(device.memory(BufferKind::kDevice), 5001, 2);
      CHECK_FALSE(readable(memory.slot(0)));
      memory.poison(2);
      memory.fill({2});
      CHECK_FALSE(memory.find_mismatch({2}));
      std::vector<char> host(memory.layout().stride);
      memory.memory().to_host(host.data(), memory.slot(0), host.size());
      host[7] = static_cast<char>(~host[7]);
      memory.memory().from_host(memory.slot(0), host.data(), host.size());
      CHECK(memory.find_mismatch({2}));
      CHECK(device.ipc()->export_memory(memory.slot(0)).length == 64);
      CHECK_THROWS_AS(device.memory(BufferKind::kDevice).allocate(std::size_t{1} << 40),
                      AcceleratorOutOfMemory);
    }
    CHECK(gomp_taken() == 1);
  }
  CHECK(gomp_taken() == 0);
}

TEST_CASE("OpenACC: a library without it is a reason") {
  const Variable library("NEARPEAK_OPENACC_LIBRARY", "libm.so.6");
  CHECK_THROWS_WITH_AS(load_backend("openacc"),
                       "libm.so.6 has no OpenACC: it lacks acc_get_num_devices",
                       BackendUnavailable);
}
