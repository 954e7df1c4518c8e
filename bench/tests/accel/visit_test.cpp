// SPDX-License-Identifier: Apache-2.0
#include "accel/visit.hpp"

#include <doctest/doctest.h>

#include <array>

#include "tests/accel/fake.hpp"

namespace nearpeak {
namespace {

// What an application asks of the same driver.
template <typename... Parameters>
int ask_driver(const char* library, const char* name, Parameters... parameters) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  const int result = reinterpret_cast<int (*)(Parameters...)>(dlsym(handle, name))(parameters...);
  dlclose(handle);
  return result;
}

template <typename... Parameters>
void ask_cuda(const char* name, Parameters... parameters) {
  CHECK(ask_driver(FAKE_CUDA, name, parameters...) == 0);
}

void* current_context() {
  void* context = nullptr;
  ask_cuda("cuCtxGetCurrent", &context);
  return context;
}

// As in a library that does all within visits.
class Visits {
 public:
  Visits() { Visit::expect(true); }
  ~Visits() { Visit::expect(false); }
  Visits(const Visits&) = delete;
  Visits& operator=(const Visits&) = delete;
};

void use_device(Device& device) {
  std::array<char, 8> bytes{};
  const SlotBuffer memory(device.memory(BufferKind::kDevice), bytes.size(), 1);
  device.copy(memory.slot(0), bytes.data(), bytes.size());
}

}  // namespace

TEST_CASE("a visit: the context that was current is so afterwards") {
  const FakeCuda fake;
  const auto accelerator = FakeCuda::load();
  void* own = nullptr;
  void* other = nullptr;
  ask_cuda("cuDevicePrimaryCtxRetain", &other, 1);
  ask_cuda("cuCtxCreate_v2", &own, 0U, 1);
  ask_cuda("cuCtxPopCurrent_v2", &own);
  for (void* const before : {own, other, static_cast<void*>(nullptr)}) {
    ask_cuda("cuCtxSetCurrent", before);
    const Visits all;
    {
      const Visit visit;
      use_device(accelerator->device(0));  // the first time takes it
      {
        const Visit inner;  // an MPI library's own call
        use_device(accelerator->device(1));
      }
      use_device(accelerator->device(0));
      CHECK(current_context() != before);
    }
    CHECK(current_context() == before);
  }
  use_device(accelerator->device(0));  // of a program's own
  CHECK(current_context() != nullptr);
  ask_cuda("cuCtxSetCurrent", static_cast<void*>(nullptr));
  ask_cuda("cuCtxDestroy_v2", own);
  ask_cuda("cuDevicePrimaryCtxRelease_v2", 1);
}

TEST_CASE("a visit: contexts below the current one stay there") {
  const FakeCuda fake;
  const auto accelerator = FakeCuda::load();
  void *below = nullptr, *own = nullptr, *popped = nullptr;
  ask_cuda("cuDevicePrimaryCtxRetain", &below, 1);
  ask_cuda("cuCtxSetCurrent", below);
  ask_cuda("cuCtxCreate_v2", &own, 0U, 1);
  {
    const Visits all;
    const Visit visit;
    use_device(accelerator->device(0));
  }
  ask_cuda("cuCtxPopCurrent_v2", &popped);
  CHECK(popped == own);
  CHECK(current_context() == below);
  ask_cuda("cuCtxDestroy_v2", own);
  ask_cuda("cuCtxSetCurrent", static_cast<void*>(nullptr));
  ask_cuda("cuDevicePrimaryCtxRelease_v2", 1);
}

TEST_CASE("a visit: a stream that is captured meanwhile stays so") {
  const FakeCuda fake;
  const auto accelerator = FakeCuda::load();
  Device& device = accelerator->device(0);
  const auto stream = device.new_stream();
  const auto captured = [&](const auto& what) {
    void* graph = nullptr;
    ask_cuda("cuStreamBeginCapture_v2", stream->native(), 0);
    what();
    const int result = ask_driver(FAKE_CUDA, "cuStreamEndCapture", stream->native(), &graph);
    if (graph != nullptr) ask_cuda("cuGraphDestroy", graph);
    return result;
  };
  CHECK(captured([&] {
          const Visits all;
          const Visit visit;
          use_device(device);
          const auto more = accelerator->device(1).new_stream();
          CHECK(more->finished());
        }) == 0);
  // And what the application does is judged as before.
  CHECK(captured([&] { CHECK_THROWS_AS(stream->finished(), AcceleratorError); }) != 0);
}

TEST_CASE("a visit: HIP's current device") {
  const FakeHip fake;
  const auto accelerator = FakeHip::load();
  ask_driver(FAKE_HIP, "hipSetDevice", 1);
  {
    const Visits all;
    const Visit visit;
    use_device(accelerator->device(0));
  }
  int device = -1;
  ask_driver(FAKE_HIP, "hipGetDevice", &device);
  CHECK(device == 1);
}

}  // namespace nearpeak
