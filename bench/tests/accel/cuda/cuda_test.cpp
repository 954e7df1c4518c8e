// SPDX-License-Identifier: Apache-2.0
// The CUDA backend over the fake driver. Payloads go through the host, but where a test has the
// fake NVRTC: then kernels run.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <vector>

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

// The fake driver with kernels.
struct FakeCudaWithKernels : FakeCuda {
  explicit FakeCudaWithKernels(const std::string& settings = "")
      : FakeCuda(settings, FAKE_CUDA, FAKE_NVRTC) {}
};

// A message that a kernel of several blocks copies, and its payload by kernels.
void use_kernels(Accelerator& cuda) {
  Device& device = cuda.device(0);
  const auto program = device.motion_kernels();
  const auto kernel = program->kernel("copy_slots");
  Memory& memory = device.memory(BufferKind::kDevice);
  SlotBuffer out(memory, 1000, 1);
  SlotBuffer in(memory, 1000, 1);
  out.fill_pattern(6);
  in.fill_inverse(6);
  const auto stream = device.new_stream();
  const void* const to = in.slot(0);
  const void* const from = out.slot(0);
  const std::uint64_t bytes = 1000, stride = SlotBuffer::stride(bytes), count = 1, blocks = 2;
  kernel->launch({2, 32}, {&to, &from, &bytes, &stride, &count, &blocks}, *stream);
  const bool early = !in.find_mismatch(6);
  CHECK_FALSE(early);  // the fake does nothing before somebody waits
  stream->synchronize();
  const bool copied = !in.find_mismatch(6);
  CHECK(copied);
}

// Everything else that the backend does in one process.
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

TEST_CASE("payloads of every kind and length are filled and verified, with kernels or without") {
  std::string nvrtc = kNoNvrtc;
  SUBCASE("through the host") {}
  SUBCASE("by kernels") { nvrtc = FAKE_NVRTC; }
  const FakeCuda fake("", FAKE_CUDA, nvrtc);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(1);
  CHECK(device.has_kernels() == (nvrtc == FAKE_NVRTC));
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

TEST_CASE("kernels find a wrong byte, and tell what it is and should be") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  for (const BufferKind kind : {BufferKind::kDevice, BufferKind::kManaged}) {
    SlotBuffer memory(device.memory(kind), 5001, 1);
    memory.fill_pattern(1);
    for (const std::size_t place : {std::size_t{5000}, std::size_t{42}}) {
      char byte = 0;
      device.copy(&byte, memory.slot(0) + place, 1);
      byte = static_cast<char>(byte ^ 0x40);
      device.copy(memory.slot(0) + place, &byte, 1);
      const auto wrong = memory.find_mismatch(1);
      REQUIRE(wrong);
      CHECK(wrong->byte == place);
      CHECK(wrong->got == static_cast<unsigned char>(byte));
      CHECK((wrong->got ^ wrong->expected) == 0x40);
    }
  }
}

TEST_CASE("a program that does not compile, or lacks a kernel, is told") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  CHECK_THROWS_WITH_AS(device.compile("__global__ void broken() { nonsense; }"),
                       doctest::Contains("NVRTC_ERROR_COMPILATION\nnearpeak.cu"), AcceleratorError);
  const auto program = device.motion_kernels();
  CHECK_THROWS_WITH_AS(
      program->kernel("missing"),
      "cuModuleGetFunction(missing) on GPU 0: CUDA_ERROR_NOT_FOUND: named symbol not found",
      AcceleratorError);
}

TEST_CASE("a kernel is given only what its device reaches") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  Device& other = cuda->device(1);
  const auto program = device.motion_kernels();
  const auto kernel = program->kernel("copy_slots");
  const auto stream = device.new_stream();
  const std::uint64_t bytes = 100, stride = 128, count = 1, blocks = 1;
  SlotBuffer from_memory(device.memory(BufferKind::kDevice), bytes, 1);
  from_memory.fill_pattern(3);
  const void* const from = from_memory.slot(0);
  const auto copy_to = [&](const void* to, const LaunchShape& shape, Stream& on) {
    kernel->launch(shape, {&to, &from, &bytes, &stride, &count, &blocks}, on);
    on.synchronize();
  };
  for (const char kind : {'P', 'D', 'M'}) {
    SlotBuffer to(device.memory(buffer_kind(kind)), bytes, 1);
    to.fill_inverse(3);
    copy_to(to.slot(0), {1, 256}, *stream);
    CHECK_FALSE(to.find_mismatch(3));
  }
  Page page;
  CHECK_THROWS_WITH_AS(copy_to(page.data, {1, 32}, *stream),
                       "cuLaunchKernel(copy_slots) on GPU 0: CUDA_ERROR_ILLEGAL_ADDRESS: an "
                       "illegal memory access was encountered",
                       AcceleratorError);
  {
    const auto registered = device.register_host(page.data, sizeof(page.data));
    copy_to(registered->on_device(), {1, 32}, *stream);
    CHECK_FALSE(find_mismatch(page.data, bytes, 3));
  }
  SlotBuffer far(other.memory(BufferKind::kDevice), bytes, 1);
  CHECK_THROWS_AS(copy_to(far.slot(0), {1, 32}, *stream), AcceleratorError);
  device.enable_access(other);
  copy_to(far.slot(0), {1, 32}, *stream);
  CHECK_FALSE(far.find_mismatch(3));

  CHECK_THROWS_AS(copy_to(far.slot(0), {1, 1025}, *stream), AcceleratorError);
  CHECK_THROWS_AS(copy_to(far.slot(0), {0, 32}, *stream), AcceleratorError);
  const auto elsewhere = other.new_stream();
  CHECK_THROWS_AS(copy_to(far.slot(0), {1, 32}, *elsewhere), AcceleratorError);
}

TEST_CASE("a kernel that waits for the host runs until then, and its stream is not finished") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  constexpr std::uint64_t kStop = ~std::uint64_t{0};
  constexpr std::uint64_t kPatienceNs = 60'000'000'000;
  const auto program = device.motion_kernels();
  const auto kernel = program->kernel("answer_flags");
  const auto stream = device.new_stream();
  const auto ended = device.new_event();
  SlotBuffer flags(device.memory(BufferKind::kPinned), 8, 2);
  auto* const asked = new (flags.slot(0)) std::atomic<std::uint64_t>(0);
  auto* const answered = new (flags.slot(1)) std::atomic<std::uint64_t>(0);
  kernel->launch({1, 1}, {&asked, &answered, &kPatienceNs}, *stream);
  ended->record(*stream);
  for (const std::uint64_t value : {3u, 1u, 2u}) {
    *asked = value;
    while (*answered != value) {
    }
    CHECK_FALSE(stream->finished());
    CHECK_FALSE(ended->reached());
  }
  *asked = kStop;
  SUBCASE("asked again and again") {
    while (!stream->finished()) {
    }
  }
  SUBCASE("by the event") {
    while (!ended->reached()) {
    }
  }
  SUBCASE("waited for") { stream->synchronize(); }
  CHECK(ended->reached());
  CHECK(*answered == 2);
}

TEST_CASE("a kernel that nobody answers gives up") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto program = device.motion_kernels();
  const auto stream = device.new_stream();
  SlotBuffer memory(device.memory(BufferKind::kPinned), 64, 5);
  std::memset(memory.slot(0), 0, 5 * SlotBuffer::stride(64));
  const void* const slot[] = {memory.slot(0), memory.slot(1), memory.slot(2), memory.slot(3),
                              memory.slot(4)};
  const std::uint64_t patience_ns = 1'000'000, bytes = 64, one = 1;
  program->kernel("answer_flags")->launch({1, 1}, {&slot[0], &slot[1], &patience_ns}, *stream);
  stream->synchronize();
  program->kernel("pass_messages")
      ->launch({1, 64},
               {&slot[0], &slot[1], &slot[2], &slot[3], &bytes, &one, &one, &one, &patience_ns,
                &slot[4]},
               *stream);
  stream->synchronize();
  std::uint64_t sent = 0, time_ns = 1;
  std::memcpy(&sent, slot[2], sizeof(sent));
  std::memcpy(&time_ns, slot[4], sizeof(time_ns));
  CHECK(sent == 1);
  CHECK(time_ns == 0);
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
  // Two contexts with a stream each; for kernels a stream, a module and a place for the result.
  CHECK(FakeCuda::live() == (cuda->device(0).has_kernels() ? 10 : 4));
}

TEST_CASE("device memory is opened by another process, with kernels or without") {
  std::string nvrtc = kNoNvrtc;
  SUBCASE("through the host") {}
  SUBCASE("by kernels") { nvrtc = FAKE_NVRTC; }
  const FakeCuda fake("", FAKE_CUDA, nvrtc);
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

// Has each of these calls fail at its first, second... time, until all is done without an error.
void fail_each(const std::vector<std::string>& calls, const std::string& nvrtc,
               const std::function<void(Accelerator&)>& use) {
  for (const std::string& call : calls) {
    int failures = 0;
    for (bool failed = true; failed && failures < 100;) {
      const FakeCuda fake(call + ":400:" + std::to_string(failures + 1), FAKE_CUDA, nvrtc);
      failed = false;
      try {
        const auto cuda = FakeCuda::load();
        use(*cuda);
      } catch (const AcceleratorError& error) {
        failed = true;
        const std::string text = error.what();
        CHECK_MESSAGE(text.rfind(call, 0) == 0, text);
        CHECK(text.find("CUDA_ERROR_INVALID_HANDLE: invalid resource handle") != text.npos);
      }
      if (failed) ++failures;
    }
    CHECK_MESSAGE(failures > 0, call);
    CHECK_MESSAGE(failures < 100, call);
  }
}

TEST_CASE("an error at any call leaves nothing behind") {
  fail_each({"cuCtxSetCurrent",       "cuDevicePrimaryCtxRetain",
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
             "cuStreamQuery"},
            kNoNvrtc, use_everything);
}

TEST_CASE("an error at any call of a kernel leaves nothing behind") {
  fail_each({"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "cuStreamSynchronize",
             "cuCtxSetCurrent"},
            FAKE_NVRTC, use_kernels);
}

TEST_CASE("kernels that the driver does not load are a reason, and the host does their work") {
  for (const std::string call : {"cuModuleLoadData", "cuModuleGetFunction"}) {
    const FakeCudaWithKernels fake(call + ":400");
    const auto cuda = FakeCuda::load();
    Device& device = cuda->device(0);
    CHECK(device.why_no_kernels().rfind(call, 0) == 0);
    SlotBuffer memory(device.memory(BufferKind::kDevice), 100, 1);
    memory.fill_pattern(2);
    CHECK_FALSE(memory.find_mismatch(2));
  }
}
