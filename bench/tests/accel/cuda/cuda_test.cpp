// SPDX-License-Identifier: Apache-2.0
// The CUDA backend over the fake driver. Kernels cannot run there (its cuModuleLoadData fails), so
// payloads go through the host; the kernels are tested in pattern_kernels_test.cpp.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <numeric>

#include "options/options.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/readable.hpp"
#include "tests/native/quiet.hpp"

using namespace nearpeak;

namespace {

std::string hex(const IpcHandle& handle) {
  std::string text;
  for (const unsigned char byte : handle) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

IpcHandle from_hex(const std::string& text) {
  IpcHandle handle{};
  for (std::size_t i = 0; i < handle.size(); ++i)
    handle[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

// A page of host memory that the driver does not know.
struct alignas(4096) Page {
  char data[4096] = {};
};

// Everything that the backend does in one process.
void use_everything(Accelerator& cuda) {
  Device& device = cuda.device(0);
  SlotBuffer on_device(device.memory(BufferKind::kDevice), 1000, 2);
  SlotBuffer pinned(device.memory(BufferKind::kPinned), 1000, 2);
  SlotBuffer managed(device.memory(BufferKind::kManaged), 1000, 2);
  on_device.fill_pattern(3);
  device.copy(managed.slot(0), on_device.slot(0), 1000);
  const auto stream = device.new_stream();
  const auto other = device.new_stream();
  const auto start = device.new_event();
  const auto stop = device.new_event();
  start->record(*stream);
  device.copy_async(pinned.slot(0), managed.slot(0), 1000, *stream);
  stop->record(*stream);
  other->wait_for(*stop);
  while (!stop->reached()) {
  }
  stop->synchronize();
  const double us = stop->microseconds_since(*start);
  CHECK(us >= 0);
  CHECK_FALSE(find_mismatch(pinned.slot(0), 1000, 3));
  const PointerKind kind = device.pointer_kind(on_device.slot(0));
  CHECK((kind == PointerKind::kDevice));
  device.ipc_export(on_device.slot(0));
  if (device.can_access(cuda.device(1))) device.enable_access(cuda.device(1));
  stream->synchronize();
  device.synchronize();
  Page page;
  const auto registered = device.register_host(page.data, sizeof(page.data));
  device.copy_async(registered->on_device(), page.data + 64, 64, *stream);
  while (!stream->finished()) {
  }
}

}  // namespace

TEST_CASE("the devices are listed as they are") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  CHECK(cuda->version() == "driver for CUDA 12.4");
  REQUIRE(cuda->devices().size() == 2);
  const DeviceInfo& info = cuda->devices()[1];
  CHECK(info.index == 1);
  CHECK(info.name == "Fake GPU B");
  CHECK(info.uuid == "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
  CHECK(info.pci == "00000010:18:00.0");
  CHECK(info.memory_bytes == std::uint64_t{1} << 30);
  CHECK(info.l2_bytes == 1 << 20);
  CHECK(info.unusable.empty());
  CHECK(&cuda->device(1) == &cuda->device(1));
  CHECK(cuda->device(1).info().uuid == info.uuid);
  CHECK_THROWS_WITH_AS(cuda->device(2), "there is no GPU 2: this process sees 2", BadInput);
  CHECK_THROWS_AS(cuda->device(-1), BadInput);
}

TEST_CASE("a device that cannot be used does not stop the others") {
  SUBCASE("it is listed with its reason") {
    const FakeCuda fake("prohibited=0");
    const auto cuda = FakeCuda::load();
    CHECK(cuda->devices()[0].unusable == "its compute mode is 'prohibited'");
    CHECK_THROWS_WITH_AS(cuda->device(0), "GPU 0 cannot be used: its compute mode is 'prohibited'",
                         AcceleratorError);
    CHECK(cuda->device(1).info().index == 1);
  }
  SUBCASE("it does not answer") {
    const FakeCuda fake("cuDeviceGetName:999:1");
    const auto cuda = FakeCuda::load();
    CHECK(cuda->devices()[0].unusable == "cuDeviceGetName: error 999");
    CHECK(cuda->devices()[1].unusable.empty());
  }
  SUBCASE("another process has it for itself") {
    const FakeCuda fake("cuDevicePrimaryCtxRetain:46:1");
    const auto cuda = FakeCuda::load();
    CHECK_THROWS_WITH_AS(cuda->device(1),
                         "cuDevicePrimaryCtxRetain on GPU 1: CUDA_ERROR_DEVICE_UNAVAILABLE: "
                         "CUDA-capable device(s) is/are busy or unavailable",
                         AcceleratorError);
    CHECK(cuda->device(0).info().index == 0);
  }
}

TEST_CASE("only device memory is out of the CPU's reach, and each pointer is known as its kind") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const std::pair<BufferKind, PointerKind> kinds[] = {
      {BufferKind::kHost, PointerKind::kHost},
      {BufferKind::kPinned, PointerKind::kPinned},
      {BufferKind::kDevice, PointerKind::kDevice},
      {BufferKind::kManaged, PointerKind::kManaged}};
  for (const auto& [buffer, pointer] : kinds) {
    SlotBuffer slots(device.memory(buffer), 100, 2);
    CHECK(device.pointer_kind(slots.slot(1) + 50) == pointer);
    CHECK(readable(slots.slot(0)) == (buffer != BufferKind::kDevice));
  }
}

TEST_CASE("payloads of every kind and length are filled and verified") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(1);
  // Lengths beyond 4 MiB go through the host in parts.
  constexpr std::size_t kPart = std::size_t{4} << 20;
  for (const char kind : {'H', 'P', 'D', 'M'}) {
    Memory& memory = device.memory(buffer_kind(kind));
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64},
                                    std::size_t{1001}, kPart - 1, kPart, kPart + 13}) {
      SlotBuffer slots(memory, bytes + 1, 1);
      void* const data = slots.slot(0);
      memory.fill_inverse(data, bytes + 1, 4);
      memory.fill_pattern(data, bytes, 4);
      CHECK_FALSE(memory.find_mismatch(data, bytes, 4));
      const auto beyond = memory.find_mismatch(data, bytes + 1, 4);
      REQUIRE(beyond);  // the byte after the payload was left alone
      CHECK(beyond->byte == bytes);
      CHECK((beyond->expected ^ beyond->got) == 0xff);
      std::vector<char> host(bytes);
      device.copy(host.data(), data, bytes);
      CHECK_FALSE(find_mismatch(host.data(), bytes, 4));  // what the host would have written
    }
  }
}

TEST_CASE("copies go between all kinds of memory and between devices") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  constexpr std::size_t kBytes = 5000;
  for (const char from : {'H', 'P', 'D', 'M'})
    for (const char to : {'H', 'P', 'D', 'M'})
      for (const int target : {0, 1}) {
        Memory& here = cuda->device(0).memory(buffer_kind(from));
        Memory& there = cuda->device(target).memory(buffer_kind(to));
        SlotBuffer source(here, kBytes, 1);
        SlotBuffer sink(there, kBytes, 1);
        source.fill_pattern(8);
        sink.fill_inverse(8);
        cuda->device(0).copy(sink.slot(0), source.slot(0), kBytes);
        CHECK_FALSE(sink.find_mismatch(8));
      }
}

TEST_CASE("a copy beyond its memory is refused, and the error names call, bytes and device") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(1);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 64, 1);
  char host[65] = {};
  CHECK_THROWS_WITH_AS(device.copy(memory.slot(0), host, 65),
                       "cuMemcpyAsync(65 B) on GPU 1: CUDA_ERROR_INVALID_VALUE: invalid argument",
                       AcceleratorError);
}

TEST_CASE("work is done in the order of its stream, and streams wait for events") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 64, 1);
  char in[64];
  std::memset(in, 'a', sizeof(in));
  char out[64] = {};
  const auto writer = device.new_stream();
  const auto reader = device.new_stream();
  const auto written = device.new_event();
  device.copy_async(memory.slot(0), in, 64, *writer);
  written->record(*writer);
  CHECK(out[0] == 0);  // the fake does nothing before somebody waits
  SUBCASE("by an event") {
    reader->wait_for(*written);
    device.copy_async(out, memory.slot(0), 64, *reader);
    CHECK_FALSE(written->reached());
    reader->synchronize();
    CHECK(written->reached());
  }
  SUBCASE("by the device") {
    device.copy_async(out, memory.slot(0), 64, *writer);
    device.synchronize();
  }
  SUBCASE("by polling") {
    while (!written->reached()) {
    }
    device.copy(out, memory.slot(0), 64);
  }
  CHECK(std::string(out, 64) == std::string(64, 'a'));
}

TEST_CASE("events tell the time between them, once they are reached") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto stream = device.new_stream();
  const auto start = device.new_event();
  const auto stop = device.new_event();
  start->record(*stream);
  stop->record(*stream);
  CHECK_THROWS_WITH_AS(stop->microseconds_since(*start),
                       "cuEventElapsedTime on GPU 0: CUDA_ERROR_NOT_READY: device not ready",
                       AcceleratorError);
  start->synchronize();
  usleep(2000);
  stop->synchronize();
  const double us = stop->microseconds_since(*start);
  CHECK(us >= 1999);  // microseconds, not milliseconds; float has 24 bits
}

TEST_CASE("memory that there is not is told from other errors, and the device stays usable") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Memory& memory = cuda->device(0).memory(BufferKind::kDevice);
  CHECK_THROWS_WITH_AS(
      memory.allocate(std::size_t{1} << 40),
      "cuMemAlloc_v2(1099511627776 B) on GPU 0: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
      AcceleratorOutOfMemory);
  CHECK_THROWS_AS(SlotBuffer(memory, std::size_t{1} << 28, 8), std::bad_alloc);
  SlotBuffer some(memory, 64, 1);
  some.fill_pattern(1);
  CHECK_FALSE(some.find_mismatch(1));
}

TEST_CASE("the error of each kind of memory names its call") {
  const FakeCuda fake("cuMemHostAlloc:2,cuMemAllocManaged:2,cuMemAlloc_v2:46");
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  CHECK_THROWS_WITH_AS(device.memory(BufferKind::kPinned).allocate(8),
                       "cuMemHostAlloc(8 B) on GPU 0: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
                       AcceleratorOutOfMemory);
  CHECK_THROWS_WITH_AS(device.memory(BufferKind::kManaged).allocate(8),
                       "cuMemAllocManaged(8 B) on GPU 0: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
                       AcceleratorOutOfMemory);
  CHECK_THROWS_AS(device.memory(BufferKind::kDevice).allocate(8), AcceleratorError);
}

TEST_CASE("peer access is asked for and given once or more often") {
  SUBCASE("where the devices can") {
    const FakeCuda fake;
    const auto cuda = FakeCuda::load();
    CHECK(cuda->device(0).can_access(cuda->device(1)));
    cuda->device(0).enable_access(cuda->device(1));
    cuda->device(0).enable_access(cuda->device(1));
  }
  SUBCASE("where they cannot") {
    const FakeCuda fake("peer=0");
    const auto cuda = FakeCuda::load();
    CHECK_FALSE(cuda->device(1).can_access(cuda->device(0)));
    CHECK_THROWS_WITH_AS(cuda->device(1).enable_access(cuda->device(0)),
                         "cuCtxEnablePeerAccess(GPU 0) on GPU 1: "
                         "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: peer access is not supported",
                         AcceleratorError);
  }
}

TEST_CASE("without kernels the reason is told, and nothing is launched") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  CHECK_FALSE(device.has_kernels());
  CHECK(device.why_no_kernels() ==
        "/nowhere/libnvrtc.so cannot be loaded: /nowhere/libnvrtc.so: cannot open shared object "
        "file: No such file or directory");
  CHECK_THROWS_AS(device.compile("__global__ void empty() {}"), BackendUnavailable);
}

// Run in a process of its own by the test below it.
TEST_CASE("another process opens memory" * doctest::skip()) {
  const char* handle = std::getenv("NEARPEAK_TEST_HANDLE");
  if (handle == nullptr) return;
  const auto cuda = FakeCuda::load();
  for (const int index : {0, 1}) {  // from the same device and from the other
    Device& device = cuda->device(index);
    Memory& memory = device.memory(BufferKind::kDevice);
    const auto opened = device.ipc_open(from_hex(handle));
    CHECK_FALSE(readable(opened->data()));
    CHECK(device.pointer_kind(opened->data()) == PointerKind::kDevice);
    CHECK_FALSE(memory.find_mismatch(opened->data(), 5001, 10 + index));
    memory.fill_pattern(opened->data(), 5001, 11 + index);
  }
  CHECK(FakeCuda::live() == 4);  // two contexts, with a stream each
}

TEST_CASE("device memory is opened by another process") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 5001, 1);
  memory.fill_pattern(10);
  const IpcHandle handle = device.ipc_export(memory.slot(0));
  std::vector<std::string> other{"/proc/self/exe", "--no-skip", "--minimal",
                                 "--test-case=another process opens memory"};
  {
    const Variable given("NEARPEAK_TEST_HANDLE", hex(handle));
    CHECK(run_program(other) == 0);
    CHECK_FALSE(memory.find_mismatch(12));  // what the other wrote
    memory.fill_pattern(99);
    other.push_back("--out=/dev/null");
    CHECK(run_program(other) == 1);  // it does verify
  }
  CHECK_THROWS_WITH_AS(
      device.ipc_open(handle),
      "cuIpcOpenMemHandle_v2 on GPU 0: CUDA_ERROR_INVALID_CONTEXT: invalid device context",
      AcceleratorError);
  CHECK_THROWS_WITH_AS(device.ipc_export(memory.slot(0) + 64),
                       "device memory can be given to another process only from its start",
                       AcceleratorError);
  SlotBuffer managed(device.memory(BufferKind::kManaged), 64, 1);
  CHECK_THROWS_AS(device.ipc_export(managed.slot(0)), AcceleratorError);
}

TEST_CASE("a process forked after the driver was initialised cannot use it") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  const int status = in_own_process([] {
    try {
      FakeCuda::load();
    } catch (const BackendUnavailable& error) {
      return std::string(error.what()).find("NOT_INITIALIZED") != std::string::npos ? 7 : 1;
    }
    return 0;
  });
  CHECK(status == 7);
}

TEST_CASE("host memory is registered where it is, once, and let go of at the end") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  Page page;
  {
    const auto registered = device.register_host(page.data, sizeof(page.data));
    CHECK(device.pointer_kind(page.data + 100) == PointerKind::kPinned);
    CHECK_THROWS_WITH_AS(device.register_host(page.data, 64),
                         doctest::Contains("ALREADY_REGISTERED"), AcceleratorError);
    SlotBuffer slots(device.memory(BufferKind::kDevice), 64, 1);
    slots.fill_pattern(5);
    device.copy(registered->on_device(), slots.slot(0), 64);
    CHECK_FALSE(find_mismatch(page.data, 64, 5));
  }
  CHECK(device.pointer_kind(page.data) == PointerKind::kHost);
  CHECK_THROWS_AS(device.register_host(page.data + 8, 64), AcceleratorError);
}

TEST_CASE("a stream is asked whether all is done") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto stream = device.new_stream();
  CHECK(stream->finished());
  char from[8] = "new";
  char to[8] = "old";
  device.copy_async(to, from, sizeof(from), *stream);
  CHECK(std::string(to) == "old");
  CHECK_FALSE(stream->finished());
  while (!stream->finished()) {
  }
  CHECK(std::string(to) == "new");
}

TEST_CASE("an error at any call leaves nothing behind") {
  for (const char* call : {"cuCtxSetCurrent",       "cuDevicePrimaryCtxRetain",
                           "cuMemAlloc_v2",         "cuMemHostAlloc",
                           "cuMemAllocManaged",     "cuMemcpyAsync",
                           "cuStreamCreate",        "cuStreamSynchronize",
                           "cuStreamWaitEvent",     "cuEventCreate",
                           "cuEventRecord",         "cuEventQuery",
                           "cuEventSynchronize",    "cuEventElapsedTime",
                           "cuPointerGetAttribute", "cuMemGetAddressRange_v2",
                           "cuIpcGetMemHandle",     "cuDeviceCanAccessPeer",
                           "cuCtxEnablePeerAccess", "cuCtxSynchronize",
                           "cuMemHostRegister_v2",  "cuMemHostGetDevicePointer_v2",
                           "cuStreamQuery"}) {
    int failures = 0;
    for (bool failed = true; failed && failures < 100;) {
      const FakeCuda fake(std::string(call) + ":400:" + std::to_string(failures + 1));
      failed = false;
      try {
        const auto cuda = FakeCuda::load();
        use_everything(*cuda);
      } catch (const AcceleratorError& error) {
        failed = true;
        const std::string text = error.what();
        CHECK_MESSAGE(text.rfind(call, 0) == 0, text);
        CHECK(text.find("CUDA_ERROR_INVALID_HANDLE: invalid resource handle") != text.npos);
      }
      if (failed) ++failures;
    }
    CHECK_MESSAGE(failures > 0, std::string(call));
    CHECK_MESSAGE(failures < 100, std::string(call));
  }
}
