// SPDX-License-Identifier: Apache-2.0
// Backends over a GPU driver, by the CUDA backend over the fake driver. Payloads go through the
// host, but where a test has the fake NVRTC: then kernels run.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "options/options.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/readable.hpp"
#include "tests/programs/native/quiet.hpp"

using namespace nearpeak;

namespace {

std::string hex(const IpcHandle& handle) {
  std::string text;
  for (std::uint32_t i = 0; i < handle.length; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", handle.bytes[i]);
    text += digits;
  }
  return text;
}

IpcHandle from_hex(const std::string& text) {
  IpcHandle handle;
  handle.length = static_cast<std::uint32_t>(text.size() / 2);
  for (std::uint32_t i = 0; i < handle.length; ++i)
    handle.bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

SlotLayout one_slot(std::size_t bytes) { return {.bytes = bytes, .stride = bytes, .count = 1}; }

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
  if (const std::string why = why_no_kernels(device); !why.empty()) throw AcceleratorError(why);
  const auto program = device.kernels()->motion();
  const auto kernel = program->kernel("copy_slots");
  Memory& memory = device.memory(BufferKind::kDevice);
  SlotBuffer out(memory, 1000, 1);
  SlotBuffer in(memory, 1000, 1);
  out.fill({6});
  in.poison(6);
  const auto stream = device.new_stream();
  const void* const to = in.slot(0);
  const void* const from = out.slot(0);
  const std::uint64_t bytes = 1000, stride = SlotBuffer::stride(bytes), count = 1, blocks = 2;
  kernel->launch({2, 32}, {&to, &from, &bytes, &stride, &count, &blocks}, *stream);
  const bool early = !in.find_mismatch({6});
  CHECK_FALSE(early);  // the fake does nothing before somebody waits
  stream->synchronize();
  const bool copied = !in.find_mismatch({6});
  CHECK(copied);
}

// Everything else that the backend does in one process.
void use_everything(Accelerator& cuda) {
  Device& device = cuda.device(0);
  SlotBuffer on_device(device.memory(BufferKind::kDevice), 1000, 2);
  SlotBuffer pinned(device.memory(BufferKind::kPinned), 1000, 2);
  SlotBuffer managed(device.memory(BufferKind::kManaged), 1000, 2);
  on_device.fill({3});
  device.copy(managed.slot(0), on_device.slot(0), 1000);
  const auto stream = device.new_stream();
  const auto event = device.new_event();
  device.copy_async(pinned.slot(0), managed.slot(0), 1000, *stream);
  event->record(*stream);
  while (!event->reached()) {
  }
  CHECK_FALSE(find_mismatch(pinned.slot(0), one_slot(1000), {3}));
  device.ipc()->export_memory(on_device.slot(0));
  stream->synchronize();
  const auto behind = device.new_background_stream();
  behind->wait_for(*stream);
  behind->wait_for(*stream);
  behind->synchronize();
  Page page;
  const auto registered = device.registration()->register_memory(page.data, sizeof(page.data));
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

TEST_CASE("memory is found by its address, whoever has allocated it") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(1);
  SlotBuffer plain(device.memory(BufferKind::kDevice), 1000, 2);
  SlotBuffer pinned(device.memory(BufferKind::kPinned), 1000, 1);
  SlotBuffer managed(device.memory(BufferKind::kManaged), 1000, 1);
  Memory* const pool = device.memory_from("async");
  REQUIRE(pool != nullptr);
  SlotBuffer pooled(*pool, 1000, 1);
  const auto found = cuda->locate(plain.slot(1) + 7);
  REQUIRE(found);
  CHECK(found->kind == BufferKind::kDevice);
  CHECK(found->device == 1);
  CHECK(found->base == plain.slot(0));
  CHECK(found->bytes == 2 * SlotBuffer::stride(1000));
  CHECK(found->shareable);
  const auto other = cuda->locate(pooled.slot(0));
  REQUIRE(other);
  CHECK(other->kind == BufferKind::kDevice);
  CHECK(other->allocation != found->allocation);
  CHECK_FALSE(other->shareable);
  CHECK(cuda->locate(pinned.slot(0))->kind == BufferKind::kPinned);
  CHECK(cuda->locate(managed.slot(0))->kind == BufferKind::kManaged);
  const int mine = 0;
  CHECK_FALSE(cuda->locate(&mine));
}

TEST_CASE("a device may not reach the memory of another one") {
  SUBCASE("it does") {
    const FakeCuda fake;
    CHECK(FakeCuda::load()->reaches(0, 1));
  }
  SUBCASE("it does not, but its own") {
    const FakeCuda fake("peer=0");
    const auto cuda = FakeCuda::load();
    CHECK_FALSE(cuda->reaches(0, 1));
    CHECK(cuda->reaches(1, 1));
  }
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

TEST_CASE("only device memory is out of the CPU's reach") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  for (const char letter : {'H', 'P', 'D', 'M'}) {
    SlotBuffer slots(device.memory(buffer_kind(letter)), 100, 2);
    CHECK(readable(slots.slot(0)) == (letter != 'D'));
  }
}

TEST_CASE("payloads of every kind and length are as the host makes them, with kernels or without") {
  std::string nvrtc = kNoNvrtc;
  SUBCASE("through the host") {}
  SUBCASE("by kernels") { nvrtc = FAKE_NVRTC; }
  const FakeCuda fake("", FAKE_CUDA, nvrtc);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(1);
  CHECK(why_no_kernels(device).empty() == (nvrtc == FAKE_NVRTC));
  // More than 4 MiB go through the host in parts.
  constexpr std::size_t kPart = std::size_t{4} << 20;
  struct Case {
    std::size_t bytes, slots;
  };
  for (const char kind : {'H', 'P', 'D', 'M'})
    for (const Case& each : {Case{0, 3}, Case{1, 3}, Case{7, 2}, Case{64, 3}, Case{1001, 2},
                             Case{9000, 1000}, Case{kPart + 13, 2}}) {
      SlotBuffer slots(device.memory(buffer_kind(kind)), each.bytes, each.slots);
      slots.poison(4);
      slots.fill({4});
      CHECK_FALSE(slots.find_mismatch({4}));
      slots.fill({4, 9}, Part::kStamps);
      CHECK_FALSE(slots.find_mismatch({4, 9}, Part::kStamps));
      CHECK_FALSE(slots.find_mismatch({4, 9}));
      // What the host would have written.
      std::vector<char> host(slots.layout().stride * each.slots);
      slots.memory().to_host(host.data(), slots.slot(0), host.size());
      CHECK_FALSE(find_mismatch(host.data(), slots.layout(), {4, 9}));
      if (each.bytes == 0) continue;
      CHECK(slots.find_mismatch({4, 8}, Part::kStamps));  // another round's
      host.back() = static_cast<char>(~host.back());      // in the last gap, or in the payload
      slots.memory().from_host(slots.slot(0), host.data(), host.size());
      const auto wrong = slots.find_mismatch({4, 9});
      REQUIRE(wrong);
      CHECK(wrong->slot == each.slots - 1);
      CHECK(wrong->byte == slots.layout().stride - 1);
      CHECK((wrong->expected ^ wrong->got) == 0xff);
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
        source.fill({8});
        sink.poison(8);
        cuda->device(0).copy(sink.slot(0), source.slot(0), kBytes);
        CHECK_FALSE(sink.find_mismatch({8}));
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

TEST_CASE("work is done in the order of its stream, and events are asked") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 64, 1);
  char in[64];
  std::memset(in, 'a', sizeof(in));
  char out[64] = {};
  const auto stream = device.new_stream();
  const auto written = device.new_event();
  device.copy_async(memory.slot(0), in, 64, *stream);
  written->record(*stream);
  CHECK(out[0] == 0);  // the fake does nothing before somebody waits
  SUBCASE("waited for") {
    device.copy_async(out, memory.slot(0), 64, *stream);
    CHECK_FALSE(written->reached());
    stream->synchronize();
    CHECK(written->reached());
  }
  SUBCASE("asked again and again") {
    while (!written->reached()) {
    }
    device.copy(out, memory.slot(0), 64);
  }
  CHECK(std::string(out, 64) == std::string(64, 'a'));
}

// Work is done as late as it can be, or as early.
void use_two_streams(const std::string& settings, bool asks) {
  const FakeCuda fake(settings);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 8, 1);
  char out[8] = "none";
  char last[8] = "none";
  const auto writer = device.new_stream();
  const auto reader = device.new_background_stream();
  device.copy_async(memory.slot(0), "first", 6, *writer);
  reader->wait_for(*writer);
  device.copy_async(out, memory.slot(0), 6, *reader);
  writer->wait_for(*reader);
  device.copy_async(memory.slot(0), "second", 7, *writer);
  reader->wait_for(*writer);
  device.copy_async(last, memory.slot(0), 7, *reader);
  CHECK(std::string(out) == "none");  // the CPU has waited for nothing
  if (!asks) reader->synchronize();
  while (!reader->finished()) {
  }
  CHECK(std::string(out) == "first");
  CHECK(std::string(last) == "second");
  CHECK(writer->finished());
}

TEST_CASE("a stream goes on when another has done what it had") {
  for (const char* settings : {"", "eager=1"})
    for (const bool asks : {false, true}) use_two_streams(settings, asks);
}

TEST_CASE("streams in the background have the least priority, and others the greatest") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  void* const library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto priority_of =
      reinterpret_cast<int (*)(void*, int*)>(dlsym(library, "cuStreamGetPriority"));
  int usual = 1;
  int background = 1;
  CHECK(priority_of(device.new_stream()->native(), &usual) == 0);
  CHECK(priority_of(device.new_background_stream()->native(), &background) == 0);
  CHECK(usual == -5);
  CHECK(background == 0);
  dlclose(library);
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
  some.fill({1});
  CHECK_FALSE(some.find_mismatch({1}, Part::kStamps));
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

TEST_CASE("without kernels the reason is told, and nothing is launched") {
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  CHECK(why_no_kernels(device) ==
        "/nowhere/libnvrtc.so cannot be loaded: /nowhere/libnvrtc.so: cannot open shared object "
        "file: No such file or directory");
  CHECK_THROWS_AS(device.kernels()->compile(""), BackendUnavailable);
}

TEST_CASE("kernels find the first wrong byte of all slots, and tell what it is and should be") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  for (const BufferKind kind : {BufferKind::kDevice, BufferKind::kManaged}) {
    SlotBuffer memory(device.memory(kind), 5001, 3);
    memory.poison(1);
    memory.fill({1, 2});
    // In the gap, at the end of a payload, within one, and in a slot before.
    for (const auto& [slot, byte] :
         {std::pair<std::size_t, std::size_t>{2, 5050}, {2, 5001}, {2, 5000}, {1, 42}, {0, 4999}}) {
      char value = 0;
      device.copy(&value, memory.slot(slot) + byte, 1);
      value = static_cast<char>(value ^ 0x40);
      device.copy(memory.slot(slot) + byte, &value, 1);
      const auto wrong = memory.find_mismatch({1, 2});
      REQUIRE(wrong);
      CHECK(wrong->slot == slot);
      CHECK(wrong->byte == byte);
      CHECK(wrong->got == static_cast<unsigned char>(value));
      CHECK((wrong->got ^ wrong->expected) == 0x40);
    }
  }
}

TEST_CASE("a program that does not compile, or lacks a kernel, is told") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  CHECK_THROWS_WITH_AS(device.kernels()->compile("__global__ void broken() { nonsense; }"),
                       doctest::Contains("NVRTC_ERROR_COMPILATION\nnearpeak.cu"), AcceleratorError);
  const auto program = device.kernels()->motion();
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
  const auto program = device.kernels()->motion();
  const auto kernel = program->kernel("copy_slots");
  const auto stream = device.new_stream();
  const std::uint64_t bytes = 100, stride = 128, count = 1, blocks = 1;
  SlotBuffer from_memory(device.memory(BufferKind::kDevice), bytes, 1);
  from_memory.fill({3});
  const void* const from = from_memory.slot(0);
  const auto copy_to = [&](const void* to, const LaunchShape& shape, Stream& on) {
    kernel->launch(shape, {&to, &from, &bytes, &stride, &count, &blocks}, on);
    on.synchronize();
  };
  for (const char kind : {'P', 'D', 'M'}) {
    SlotBuffer to(device.memory(buffer_kind(kind)), bytes, 1);
    to.poison(3);
    copy_to(to.slot(0), {1, 256}, *stream);
    CHECK_FALSE(to.find_mismatch({3}));
  }
  Page page;
  CHECK_THROWS_WITH_AS(copy_to(page.data, {1, 32}, *stream),
                       "cuLaunchKernel(copy_slots) on GPU 0: CUDA_ERROR_ILLEGAL_ADDRESS: an "
                       "illegal memory access was encountered",
                       AcceleratorError);
  {
    const auto registered = device.registration()->register_memory(page.data, sizeof(page.data));
    copy_to(registered->on_device(), {1, 32}, *stream);
    CHECK_FALSE(find_mismatch(page.data, one_slot(bytes), {3}, Part::kStamps));
    CHECK_FALSE(find_mismatch(page.data, one_slot(bytes), {3}));
  }
  SlotBuffer far(other.memory(BufferKind::kDevice), bytes, 1);
  CHECK_THROWS_AS(copy_to(far.slot(0), {1, 32}, *stream), AcceleratorError);

  SlotBuffer near(device.memory(BufferKind::kDevice), bytes, 1);
  CHECK_THROWS_AS(copy_to(near.slot(0), {1, 1025}, *stream), AcceleratorError);
  CHECK_THROWS_AS(copy_to(near.slot(0), {0, 32}, *stream), AcceleratorError);
  const auto elsewhere = other.new_stream();
  CHECK_THROWS_AS(copy_to(near.slot(0), {1, 32}, *elsewhere), AcceleratorError);
}

// Run in a process of its own by the test below it.
TEST_CASE("another process opens memory" * doctest::skip()) {
  const char* handle = std::getenv("NEARPEAK_TEST_HANDLE");
  if (handle == nullptr) return;
  const auto cuda = FakeCuda::load();
  const SlotLayout layout = one_slot(5001);
  for (const int index : {0, 1}) {  // from the same device and from the other
    Device& device = cuda->device(index);
    Memory& memory = device.memory(BufferKind::kDevice);
    const auto opened = device.ipc()->open(from_hex(handle));
    const std::uint64_t seed = 10 + index;
    CHECK_FALSE(readable(opened->data()));
    CHECK_FALSE(memory.find_mismatch(opened->data(), layout, {seed}, Part::kAll));
    memory.fill(opened->data(), layout, {seed + 1}, Part::kAll);
  }
  // Two contexts with a stream each; for kernels a stream, a module and a place for the result.
  CHECK(FakeCuda::live() == (why_no_kernels(cuda->device(0)).empty() ? 8 : 2));
}

TEST_CASE("device memory is opened by another process, with kernels or without") {
  std::string nvrtc = kNoNvrtc;
  SUBCASE("through the host") {}
  SUBCASE("by kernels") { nvrtc = FAKE_NVRTC; }
  const FakeCuda fake("", FAKE_CUDA, nvrtc);
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 5001, 1);
  memory.poison(12);
  memory.fill({10});
  IpcHandle handle = device.ipc()->export_memory(memory.slot(0));
  CHECK(handle.length == 64);
  std::vector<std::string> other{"/proc/self/exe", "--no-skip", "--minimal",
                                 "--test-case=another process opens memory"};
  {
    const Variable given("NEARPEAK_TEST_HANDLE", hex(handle));
    CHECK(run_program(other) == 0);
    CHECK_FALSE(memory.find_mismatch({12}));  // what the other wrote
    memory.fill({99});
    other.push_back("--out=/dev/null");
    CHECK(run_program(other) == 1);  // it does verify
  }
  CHECK_THROWS_WITH_AS(
      device.ipc()->open(handle),
      "cuIpcOpenMemHandle_v2 on GPU 0: CUDA_ERROR_INVALID_CONTEXT: invalid device context",
      AcceleratorError);
  handle.length = 8;
  CHECK_THROWS_WITH_AS(device.ipc()->open(handle),
                       "this is not a handle of a GPU's memory: it has 8 bytes", AcceleratorError);
  CHECK_THROWS_WITH_AS(device.ipc()->export_memory(memory.slot(0) + 64),
                       "device memory can be given to another process only from its start",
                       AcceleratorError);
  SlotBuffer managed(device.memory(BufferKind::kManaged), 64, 1);
  CHECK_THROWS_AS(device.ipc()->export_memory(managed.slot(0)), AcceleratorError);
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
  Registration& registration = *device.registration();
  Page page;
  for (int twice = 0; twice < 2; ++twice) {
    const auto registered = registration.register_memory(page.data, sizeof(page.data));
    CHECK_THROWS_WITH_AS(registration.register_memory(page.data, 64),
                         doctest::Contains("ALREADY_REGISTERED"), AcceleratorError);
    SlotBuffer slots(device.memory(BufferKind::kDevice), 64, 1);
    slots.fill({5});
    device.copy(registered->on_device(), slots.slot(0), 64);
    CHECK_FALSE(find_mismatch(page.data, one_slot(64), {5}));
  }
  CHECK_THROWS_AS(registration.register_memory(page.data + 8, 64), AcceleratorError);
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
  fail_each(
      {"cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuMemAlloc_v2", "cuMemHostAlloc",
       "cuMemAllocManaged", "cuMemcpyAsync", "cuCtxGetStreamPriorityRange",
       "cuStreamCreateWithPriority", "cuStreamSynchronize", "cuStreamWaitEvent", "cuEventCreate",
       "cuEventRecord", "cuEventQuery", "cuMemGetAddressRange_v2", "cuIpcGetMemHandle",
       "cuMemHostRegister_v2", "cuMemHostGetDevicePointer_v2", "cuStreamQuery"},
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
    CHECK(why_no_kernels(device).rfind(call, 0) == 0);
    SlotBuffer memory(device.memory(BufferKind::kDevice), 100, 1);
    memory.poison(2);
    memory.fill({2});
    CHECK_FALSE(memory.find_mismatch({2}));
  }
}
