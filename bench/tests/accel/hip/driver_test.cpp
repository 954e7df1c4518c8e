// SPDX-License-Identifier: Apache-2.0
// What the HIP backend does in its own way, over the fake run time; what it shares with CUDA is in
// tests/accel/gpu/.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "accel/gpu/compiler.hpp"
#include "accel/hip/prelude.hpp"
#include "accel/kernels/kernels.hpp"
#include "tests/accel/fake.hpp"
#include "tests/accel/readable.hpp"

using namespace nearpeak;

TEST_CASE("HIP: the devices are listed as AMD's tools have them") {
  const FakeHip fake;
  const auto hip = FakeHip::load();
  CHECK(hip->version() == "HIP 5.2; this backend has not been run on a real device yet");
  REQUIRE(hip->devices().size() == 2);
  const DeviceInfo& info = hip->devices()[1];
  CHECK(info.name == "Fake AMD B");
  CHECK(info.uuid == "GPU-fa4dc0a2fee6e4b1");
  CHECK(info.pci == "00000010:18:00.0");
  CHECK(info.memory_bytes == std::uint64_t{1} << 30);
  CHECK(info.l2_bytes == 1 << 20);
  CHECK(info.unusable.empty());
}

TEST_CASE("HIP: partitions that have one UUID are told apart by their number") {
  const FakeHip fake;
  const Variable partitions("FAKE_PARTITIONS", "1");
  const auto hip = FakeHip::load();
  CHECK(hip->devices()[0].uuid == "GPU-fa4dc0a2fee6e4b0.0");
  CHECK(hip->devices()[1].uuid == "GPU-fa4dc0a2fee6e4b0.1");
  CHECK(hip->find_device("GPU-fa4dc0a2fee6e4b0.1") == 1);
  CHECK_THROWS_AS((void)hip->find_device("GPU-fa4dc0a2fee6e4b0"), BadInput);
}

TEST_CASE("HIP: each reason for not taking the backend is one line") {
  SUBCASE("no run time") {
    const Variable library("NEARPEAK_HIP_LIBRARY", "/nowhere/libamdhip64.so.6");
    CHECK_THROWS_WITH_AS(load_backend("hip"),
                         "/nowhere/libamdhip64.so.6 cannot be loaded: /nowhere/libamdhip64.so.6: "
                         "cannot open shared object file: No such file or directory",
                         BackendUnavailable);
  }
  SUBCASE("no device") {
    const FakeHip fake("cuInit:100");
    for (const char* name : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
      unsetenv(name);
    CHECK_THROWS_WITH_AS(FakeHip::load(),
                         "hipInit: hipErrorNoDevice: no CUDA-capable device is detected; may this "
                         "user open /dev/kfd and /dev/dri/renderD* (groups render and video)?",
                         BackendUnavailable);
    const Variable visible("ROCR_VISIBLE_DEVICES", "7");
    CHECK_THROWS_WITH_AS(FakeHip::load(), doctest::Contains("; ROCR_VISIBLE_DEVICES is '7'"),
                         BackendUnavailable);
  }
  SUBCASE("a library that is no run time") {
    const FakeHip fake;
    const Variable library("NEARPEAK_HIP_LIBRARY", "libm.so.6");
    CHECK_THROWS_WITH_AS(FakeHip::load(),
                         "the driver is too old: libm.so.6 has no hipRuntimeGetVersion",
                         BackendUnavailable);
  }
}

TEST_CASE("HIP: errors name HIP's calls, and memory that there is not is told") {
  const FakeHip fake;
  const auto hip = FakeHip::load();
  Device& device = hip->device(0);
  CHECK_THROWS_WITH_AS(device.memory(BufferKind::kDevice).allocate(std::size_t{1} << 40),
                       "hipMalloc(1099511627776 B) on GPU 0: hipErrorOutOfMemory: out of memory",
                       AcceleratorOutOfMemory);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 64, 1);
  char host[65] = {};
  CHECK_THROWS_WITH_AS(device.copy(memory.slot(0), host, 65),
                       "hipMemcpyAsync(65 B) on GPU 0: hipErrorInvalidValue: invalid argument",
                       AcceleratorError);
  CHECK_THROWS_WITH_AS(device.kernels()->compile("__global__ void broken() { nonsense; }"),
                       doctest::Contains(" for gfx90a:sramecc+:xnack-: "), AcceleratorError);
}

TEST_CASE("HIP: payloads, copies, streams, kernels and registered memory") {
  std::string hiprtc = FAKE_HIP;
  SUBCASE("by kernels") {}
  SUBCASE("through the host") { hiprtc = "/nowhere/libhiprtc.so"; }
  const FakeHip fake("", hiprtc);
  const auto hip = FakeHip::load();
  Device& device = hip->device(1);
  CHECK(why_no_kernels(device).empty() == (hiprtc == FAKE_HIP));
  const auto stream = device.new_stream();
  const auto event = device.new_event();
  for (const char kind : {'H', 'P', 'D', 'M'}) {
    SlotBuffer from(device.memory(buffer_kind(kind)), 5001, 2);
    SlotBuffer to(device.memory(BufferKind::kDevice), 5001, 2);
    CHECK(readable(from.slot(0)) == (kind != 'D'));
    from.poison(4);
    from.fill({4});
    to.poison(4);
    device.copy_async(to.slot(0), from.slot(0), from.layout().stride * 2, *stream);
    CHECK_FALSE(stream->finished());
    event->record(*stream);
    while (!event->reached()) {
    }
    CHECK_FALSE(to.find_mismatch({4}, Part::kStamps));
    const char wrong = 1;
    device.copy(to.slot(1) + 77, &wrong, 1);
    const auto found = to.find_mismatch({4});
    REQUIRE(found);
    CHECK(found->slot == 1);
    CHECK(found->byte == 77);
  }
  SlotBuffer memory_of_both(device.memory(BufferKind::kDevice), 8, 1);
  char out[8] = "none";
  const auto behind = device.new_background_stream();
  device.copy_async(memory_of_both.slot(0), "first", 6, *stream);
  behind->wait_for(*stream);
  device.copy_async(out, memory_of_both.slot(0), 6, *behind);
  behind->synchronize();
  CHECK(std::string(out) == "first");
  struct alignas(4096) {
    char data[4096] = {};
  } page;
  const auto registered = device.registration()->register_memory(page.data, sizeof(page.data));
  SlotBuffer memory(device.memory(BufferKind::kDevice), 100, 1);
  memory.fill({5});
  if (hiprtc == FAKE_HIP) {
    const auto program = device.kernels()->motion();
    const void* const to = registered->on_device();
    const void* const from = memory.slot(0);
    const std::uint64_t bytes = 100, stride = 128, count = 1, blocks = 1;
    program->kernel("copy_slots")
        ->launch({1, 64}, {&to, &from, &bytes, &stride, &count, &blocks}, *stream);
    stream->synchronize();
    CHECK_FALSE(find_mismatch(page.data, {.bytes = 100, .stride = 100, .count = 1}, {5}));
  }
}

// Run in a process of its own by the test below it.
TEST_CASE("HIP: another process opens memory" * doctest::skip()) {
  const char* bytes = std::getenv("NEARPEAK_TEST_HANDLE");
  if (bytes == nullptr) return;
  IpcHandle handle;
  handle.length = 64;
  for (std::size_t i = 0; i < 64; ++i)
    handle.bytes[i] =
        static_cast<unsigned char>(std::stoi(std::string(bytes + 2 * i, 2), nullptr, 16));
  const auto hip = FakeHip::load();
  Device& device = hip->device(0);
  const auto opened = device.ipc()->open(handle);
  CHECK_FALSE(device.memory(BufferKind::kDevice)
                  .find_mismatch(opened->data(), {.bytes = 5001, .stride = 5001, .count = 1}, {10},
                                 Part::kAll));
}

TEST_CASE("HIP: device memory is opened by another process, by either number of the flag") {
  const FakeHip fake;
  const auto hip = FakeHip::load();
  Device& device = hip->device(0);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 5001, 1);
  memory.fill({10});
  const IpcHandle handle = device.ipc()->export_memory(memory.slot(0));
  REQUIRE(handle.length == 64);
  std::string text;
  for (std::size_t i = 0; i < 64; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", handle.bytes[i]);
    text += digits;
  }
  const Variable given("NEARPEAK_TEST_HANDLE", text);
  std::vector<std::string> other{"/proc/self/exe", "--no-skip", "--minimal",
                                 "--test-case=HIP: another process opens memory"};
  CHECK(run_program(other) == 0);
  memory.fill({11});
  other.push_back("--out=/dev/null");
  CHECK(run_program(other) == 1);  // it does verify
}

// hipRTC compiles for any GPU; where ROCm is installed its compiler has the last word.
TEST_CASE("HIP: the kernels compile for AMD's GPUs") {
  void* library = nullptr;
  std::string found;
  for (const char* name : {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libamdhip64.so.5",
                           "/opt/rocm/lib/libhiprtc.so"})
    if (library == nullptr && (library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr)
      found = name;
  if (found.empty()) {
    MESSAGE("skipped: hipRTC is not here");
    return;
  }
  const Variable chosen("NEARPEAK_HIPRTC_LIBRARY", found);
  const gpu::Compiler hiprtc(Library("NEARPEAK_HIPRTC_LIBRARY", {}), "hiprtc", "Code");
  for (const auto& [target, warp] : {std::pair{"gfx908", 64}, {"gfx90a", 64}, {"gfx1030", 32}})
    for (const std::string& source : {std::string(kernels::kPattern), kernels::motion()}) {
      const std::string code = hiprtc.compile(
          hip::kPrelude + source, target,
          {std::string("--gpu-architecture=") + target, "-std=c++17",
           "-DNEARPEAK_WARP=" + std::to_string(warp), "-DNEARPEAK_CLOCK_KHZ=100000"});
      CHECK(code.substr(1, 3) == "ELF");
    }
}
