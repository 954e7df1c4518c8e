// SPDX-License-Identifier: Apache-2.0
// The OpenCL backend over drivers that are not like PoCL, and over calls that fail
// (fake_opencl.cpp).
#include <doctest/doctest.h>

#include <vector>

#include "tests/accel/opencl/opencl.hpp"

using namespace nearpeak;

namespace {

// The library of fake_opencl.cpp with these settings. At the end nothing may have leaked.
class FakeOpenCl {
 public:
  explicit FakeOpenCl(const std::string& settings)
      : library_("NEARPEAK_OPENCL_LIBRARY", FAKE_OPENCL),
        settings_("NEARPEAK_FAKE_OPENCL", settings) {}
  ~FakeOpenCl() { CHECK(live() == 0); }

  // Contexts, queues, memory, events, programs and kernels that have not ended.
  static int live() {
    static void* const handle = dlopen(FAKE_OPENCL, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != nullptr);
    return reinterpret_cast<int (*)()>(dlsym(handle, "fake_opencl_live"))();
  }

 private:
  Variable library_;
  Variable settings_;
};

// Everything that the backend does.
void use_everything(Accelerator& opencl) {
  Device& device = opencl.device(0);
  const auto program =
      device.kernels()->compile("kernel void add(global int* to, int value) { *to += value; }");
  const auto add = program->kernel("add");
  SlotBuffer on_device(device.memory(BufferKind::kDevice), 8192, 2);
  SlotBuffer pinned(device.memory(BufferKind::kPinned), 1000, 1);
  SlotBuffer managed(device.memory(BufferKind::kManaged), 1000, 1);
  managed.fill({3});
  const auto stream = device.new_stream();
  const auto stop = device.new_event();
  device.copy_async(on_device.slot(0), managed.slot(0), 1000, *stream);
  device.copy_async(on_device.slot(1), on_device.slot(0), 1000, *stream);
  device.copy_async(pinned.slot(0), on_device.slot(1), 1000, *stream);
  stop->record(*stream);
  const auto behind = device.new_background_stream();
  behind->wait_for(*stream);
  const void* const part = on_device.slot(1);
  const void* const data = managed.slot(0);
  const int one = 1;
  add->launch({1, 1}, {&part, &one}, *stream);
  add->launch({1, 1}, {&data, &one}, *stream);
  while (!stop->reached()) {
  }
  stream->synchronize();
  const SlotLayout layout{.bytes = 1000, .stride = 1000, .count = 1};
  CHECK_FALSE(find_mismatch(pinned.slot(0), layout, {3}));
  const auto wrong = managed.find_mismatch({3}, Part::kStamps);
  REQUIRE(wrong);
  CHECK(wrong->byte == 0);
}

}  // namespace

TEST_CASE("OpenCL: UUID and PCI address are the driver's where it tells them") {
  if (!has_opencl()) return;
  const FakeOpenCl fake("identity=1");
  const auto opencl = load_opencl();
  CHECK(opencl->devices()[0].uuid == "GPU-00112233-4455-6677-8899-aabbccddeeff");
  CHECK(opencl->devices()[0].pci == "00000010:c1:02.1");
}

TEST_CASE("OpenCL: a device that cannot be used does not stop the others") {
  if (!has_opencl()) return;
  SUBCASE("one") {
    const FakeOpenCl fake("clGetDeviceInfo:-33:1");
    const auto opencl = load_opencl();
    REQUIRE(opencl->devices().size() >= 2);
    CHECK(opencl->devices()[0].unusable == "clGetDeviceInfo: CL_INVALID_DEVICE");
    CHECK_THROWS_WITH_AS(opencl->device(0),
                         "OpenCL device 0 cannot be used: clGetDeviceInfo: CL_INVALID_DEVICE",
                         AcceleratorError);
    CHECK(opencl->device(1).info().index == 1);
  }
  SUBCASE("all") {
    const FakeOpenCl fake("version=OpenCL 1.1 old");
    CHECK_THROWS_WITH_AS(load_opencl(),
                         "no device can be used; device 0: it offers OpenCL 1.1 old, OpenCL 1.2 or "
                         "newer is needed",
                         BackendUnavailable);
  }
}

TEST_CASE("OpenCL: why there is no device is told") {
  if (!has_opencl()) return;
  const auto expect = [](const char* settings, const doctest::Contains& reason) {
    const FakeOpenCl fake(settings);
    CHECK_THROWS_WITH_AS(load_opencl(), reason, BackendUnavailable);
  };
  expect("clGetPlatformIDs:-1001", doctest::Contains("there is no OpenCL platform"));
  expect("clGetPlatformIDs:-6", doctest::Contains("clGetPlatformIDs: CL_OUT_OF_HOST_MEMORY"));
  expect("clGetPlatformInfo:-32", doctest::Contains("clGetPlatformInfo: CL_INVALID_PLATFORM"));
  expect("clGetDeviceIDs:-1", doctest::Contains("no platform has a device: "));
  expect("clGetDeviceIDs:-31", doctest::Contains(": clGetDeviceIDs: CL_INVALID_DEVICE_TYPE"));
}

TEST_CASE("OpenCL: without shared virtual memory there is no memory M, and that is said") {
  if (!has_opencl()) return;
  for (const char* settings : {"svm=0", "version=OpenCL 1.2 old"}) {
    const FakeOpenCl fake(settings);
    const auto opencl = load_opencl();
    Device& device = opencl->device(0);
    CHECK_THROWS_WITH_AS(device.memory(BufferKind::kManaged).allocate(8),
                         "OpenCL device 0 has no memory of the kind M: its driver has no shared "
                         "virtual memory (OpenCL 2.0's SVM)",
                         AcceleratorError);
    SlotBuffer memory(device.memory(BufferKind::kDevice), 100, 1);
    memory.poison(2);
    memory.fill({2});
    CHECK_FALSE(memory.find_mismatch({2}));
  }
}

TEST_CASE("OpenCL: memory of coarse sharing is the CPU's except while a kernel has it") {
  if (!has_opencl()) return;
  const FakeOpenCl fake("svm=1");
  const auto opencl = load_opencl();
  use_everything(*opencl);
}

TEST_CASE("OpenCL: payloads go through the host where there is no compiler") {
  if (!has_opencl()) return;
  const FakeOpenCl fake("clBuildProgram:-3");
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  CHECK(why_no_kernels(device) == "clBuildProgram on OpenCL device 0: CL_COMPILER_NOT_AVAILABLE");
  SlotBuffer slots(device.memory(BufferKind::kDevice), 3 << 20, 3);  // in parts
  slots.poison(4);
  slots.fill({4, 1});
  CHECK_FALSE(slots.find_mismatch({4, 1}));
  slots.poison(4, 2, 1);
  const auto wrong = slots.find_mismatch({4, 1});
  REQUIRE(wrong);
  CHECK(wrong->slot == 2);
  CHECK(wrong->byte == 0);
}

TEST_CASE("OpenCL: memory that a driver takes late is missed at once") {
  if (!has_opencl()) return;
  const FakeOpenCl fake("clEnqueueFillBuffer:-5");
  const auto opencl = load_opencl();
  CHECK_THROWS_WITH_AS(opencl->device(0).memory(BufferKind::kDevice).allocate(8),
                       "clEnqueueFillBuffer(8 B) on OpenCL device 0: CL_OUT_OF_RESOURCES",
                       AcceleratorOutOfMemory);
}

TEST_CASE("OpenCL: an error at any call leaves nothing behind") {
  if (!has_opencl()) return;
  constexpr int kPlaces = 12;  // of each function: the later ones repeat the first
  for (const char* call : {"clCreateContext",
                           "clCreateCommandQueue",
                           "clCreateBuffer",
                           "clCreateSubBuffer",
                           "clEnqueueFillBuffer",
                           "clEnqueueReadBuffer",
                           "clEnqueueWriteBuffer",
                           "clEnqueueCopyBuffer",
                           "clEnqueueMapBuffer",
                           "clEnqueueMarkerWithWaitList",
                           "clEnqueueBarrierWithWaitList",
                           "clGetEventInfo",
                           "clFlush",
                           "clFinish",
                           "clCreateProgramWithSource",
                           "clBuildProgram",
                           "clCreateKernel",
                           "clGetKernelInfo",
                           "clGetKernelArgInfo",
                           "clSetKernelArg",
                           "clSetKernelArgSVMPointer",
                           "clEnqueueNDRangeKernel"}) {
    int failures = 0;
    for (bool failed = true; failed && failures < kPlaces;) {
      const FakeOpenCl fake(std::string(call) + ":-59:" + std::to_string(failures + 1));
      failed = false;
      try {
        const auto opencl = load_opencl();
        use_everything(*opencl);
      } catch (const AcceleratorError& error) {
        failed = true;
        const std::string text = error.what();
        CHECK_MESSAGE(text.rfind(call, 0) == 0, text);
        CHECK_MESSAGE(text.find(" on OpenCL device 0: CL_INVALID_OPERATION") != text.npos, text);
      }
      if (failed) ++failures;
    }
    CHECK_MESSAGE(failures > 0, std::string(call));
  }
}
