// SPDX-License-Identifier: Apache-2.0
// Work of a stream that is recorded, with the fake driver.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/accel/fake.hpp"

namespace nearpeak {
namespace {

// A copy of eight bytes on a device, to be recorded.
struct Copies {
  explicit Copies(Device& on)
      : device(on),
        from(device.memory(BufferKind::kDevice), 8, 1),
        to(from.memory(), 8, 1),
        stream(device.new_stream()) {}

  void write(const char* text) { from.memory().from_host(from.slot(0), text, 8); }
  std::string read() const {
    char text[9] = "";
    to.memory().to_host(text, to.slot(0), 8);
    return text;
  }
  std::unique_ptr<Graph> record() {
    return device.record_graph(*stream,
                               [&] { device.copy_async(to.slot(0), from.slot(0), 8, *stream); });
  }

  Device& device;
  SlotBuffer from;
  SlotBuffer to;
  std::unique_ptr<Stream> stream;
};

TEST_CASE("a graph: what is recorded is done at each launch, and not before") {
  const FakeCuda fake;
  const auto accelerator = FakeCuda::load();
  Copies copies(accelerator->device(0));
  copies.write("before..");
  copies.device.copy(copies.to.slot(0), copies.from.slot(0), 8);
  copies.write("first...");
  const auto graph = copies.record();
  copies.stream->synchronize();
  CHECK(copies.read() == "before..");
  for (const char* const text : {"first...", "second.."}) {
    copies.write(text);
    graph->launch(*copies.stream);
    copies.stream->synchronize();
    CHECK(copies.read() == text);
  }
}

TEST_CASE("a graph: a recording that fails says which call, and the stream works on") {
  for (const char* const call : {"cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
    const FakeCuda fake(std::string(call) + ":900");
    const auto accelerator = FakeCuda::load();
    Copies copies(accelerator->device(0));
    CHECK_THROWS_WITH_AS(copies.record(), doctest::Contains(call), AcceleratorError);
    copies.write("after...");
    copies.device.copy_async(copies.to.slot(0), copies.from.slot(0), 8, *copies.stream);
    copies.stream->synchronize();
    CHECK(copies.read() == "after...");
  }
}

TEST_CASE("a graph: a recording ends where its work throws") {
  const FakeCuda fake;
  const auto accelerator = FakeCuda::load();
  Copies copies(accelerator->device(0));
  CHECK_THROWS_AS(
      copies.device.record_graph(*copies.stream, [] { throw std::runtime_error("no"); }),
      std::runtime_error);
  CHECK(copies.record() != nullptr);
}

}  // namespace
}  // namespace nearpeak
