// SPDX-License-Identifier: Apache-2.0
// The OpenCL backend on the devices of this machine; what every backend does on real devices is in
// real_device_test.cpp.
#include "tests/accel/opencl/opencl.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "options/options.hpp"
#include "tests/accel/readable.hpp"

using namespace nearpeak;

namespace {

// The kinds of memory that a device has: M only with shared virtual memory.
std::string kinds_of(Device& device) {
  Memory& managed = device.memory(BufferKind::kManaged);
  try {
    managed.release(managed.allocate(1));
    return "HPDM";
  } catch (const AcceleratorError& error) {
    CHECK(std::string(error.what()).find("has no memory of the kind M") != std::string::npos);
    return "HPD";
  }
}

constexpr const char* kSource = R"(
kernel void add(global int* data, int value, double2 scale) {
  data[get_global_id(0)] += value * (int)scale.y;
}
typedef struct { int a, b, c; } triple;
kernel void odd(triple t, global int* data) { data[0] = t.c; }
)";

}  // namespace

TEST_CASE("OpenCL: only device memory is out of the CPU's reach") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  for (const char letter : kinds_of(device)) {
    const BufferKind kind = buffer_kind(letter);
    SlotBuffer slots(device.memory(kind), 100, 2);
    CHECK(readable(slots.slot(0)) == (kind != BufferKind::kDevice));
    CHECK(reinterpret_cast<std::uintptr_t>(slots.slot(0)) % 256 == 0);
  }
}

TEST_CASE("OpenCL: payloads of every kind, length and offset are as the host makes them") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  REQUIRE_MESSAGE(why_no_kernels(device).empty(), why_no_kernels(device));
  std::vector<std::size_t> sizes(21);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (const std::size_t more : {4096 + 3, 9000, 4 << 20}) sizes.push_back(more);
  for (const char letter : kinds_of(device)) {
    Memory& memory = device.memory(buffer_kind(letter));
    for (const std::size_t offset : {0u, 3u, 8u, 64u})
      for (const std::size_t bytes : sizes) {
        if (bytes > 10000 && offset > 3) continue;  // enough of the long ones
        constexpr std::size_t kSlots = 2;
        SlotBuffer slots(memory, bytes, kSlots, offset);
        slots.poison(4);
        slots.fill({4});
        CHECK_FALSE(slots.find_mismatch({4}));
        slots.fill({4, 2}, Part::kStamps);
        CHECK_FALSE(slots.find_mismatch({4, 2}, Part::kStamps));
        CHECK_FALSE(slots.find_mismatch({4, 2}));
        const std::size_t stride = slots.layout().stride;
        std::vector<char> host(stride * kSlots);
        memory.to_host(host.data(), slots.slot(0), host.size());
        CHECK_FALSE(find_mismatch(host.data(), slots.layout(), {4, 2}));
        // A wrong byte is found at its place, and the first of two; in the gap too.
        for (std::size_t place = 0; place < host.size(); place += 1 + place / 2) {
          for (const auto& [at, flip] : {std::pair{place, 0x20}, {host.size() - 1, 0x01}}) {
            const char wrong = static_cast<char>(host[at] ^ flip);
            memory.from_host(slots.slot(0) + at, &wrong, 1);
          }
          const auto wrong = slots.find_mismatch({4, 2});
          REQUIRE(wrong);
          CHECK(wrong->slot == place / stride);
          CHECK(wrong->byte == place % stride);
          for (const std::size_t at : {place, host.size() - 1})
            memory.from_host(slots.slot(0) + at, &host[at], 1);
        }
        CHECK_FALSE(slots.find_mismatch({4, 2}));
      }
  }
}

TEST_CASE("OpenCL: copies go between all kinds of memory, places and devices") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  const int last = static_cast<int>(opencl->devices().size()) - 1;
  constexpr std::size_t kBytes = 5000;
  Device& here = opencl->device(0);
  const auto stream = here.new_stream();
  for (const int target : {0, last}) {
    Device& there = opencl->device(target);
    for (const char from : kinds_of(here))
      for (const char to : kinds_of(there))
        for (const std::size_t offset : {0u, 5u}) {
          SlotBuffer source(here.memory(buffer_kind(from)), kBytes, 1, offset);
          SlotBuffer sink(there.memory(buffer_kind(to)), kBytes, 1, 2 * offset);
          source.fill({8});
          sink.poison(8);
          here.copy(sink.slot(0), source.slot(0), kBytes);
          CHECK_FALSE(sink.find_mismatch({8}));
          sink.poison(8);
          here.copy_async(sink.slot(0), source.slot(0), kBytes, *stream);
          here.copy_async(sink.slot(0), source.slot(0), 0, *stream);
          stream->synchronize();
          CHECK_FALSE(sink.find_mismatch({8}));
          // Back, from whichever device has it.
          source.poison(8);
          here.copy(source.slot(0), sink.slot(0), kBytes);
          CHECK_FALSE(source.find_mismatch({8}));
        }
  }
}

TEST_CASE("OpenCL: a copy between devices goes through the host in parts") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  if (opencl->devices().size() < 2) {
    MESSAGE("skipped: one device");
    return;
  }
  constexpr std::size_t kBytes = (std::size_t{9} << 20) + 3;
  SlotBuffer source(opencl->device(0).memory(BufferKind::kDevice), kBytes, 1);
  SlotBuffer sink(opencl->device(1).memory(BufferKind::kDevice), kBytes, 1);
  source.fill({5});
  sink.poison(5);
  opencl->device(1).copy(sink.slot(0), source.slot(0), kBytes);
  CHECK_FALSE(sink.find_mismatch({5}));
}

TEST_CASE("OpenCL: a copy beyond its memory is refused, and the error names bytes and device") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  for (const char kind : {'D', 'P'}) {
    SlotBuffer memory(device.memory(buffer_kind(kind)), 64, 1);
    char host[65] = {};
    CHECK_THROWS_WITH_AS(device.copy(memory.slot(0), host, 65),
                         "copy of 65 B on OpenCL device 0: it leaves its allocation of 64 B",
                         AcceleratorError);
    const auto stream = device.new_stream();
    CHECK_THROWS_AS(device.copy_async(host, memory.slot(0) + 60, 5, *stream), AcceleratorError);
  }
}

TEST_CASE("OpenCL: work is done in the order of its stream, and events are asked") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  SlotBuffer memory(device.memory(BufferKind::kDevice), kBytes, 1);
  const std::vector<char> in(kBytes, 'a');
  std::vector<char> out(kBytes, 0);
  const auto writer = device.new_stream();
  const auto written = device.new_event();
  CHECK(written->reached());  // as nothing was recorded
  // The last of many writes is what the reader sees.
  const std::vector<char> last(kBytes, 'k');
  for (int i = 0; i < 10; ++i) device.copy_async(memory.slot(0), in.data(), kBytes, *writer);
  device.copy_async(memory.slot(0), last.data(), kBytes, *writer);
  written->record(*writer);
  SUBCASE("waited for") {
    device.copy_async(out.data(), memory.slot(0), kBytes, *writer);
    writer->synchronize();
    CHECK(written->reached());
  }
  SUBCASE("asked again and again") {
    while (!written->reached()) {
    }
    device.copy(out.data(), memory.slot(0), kBytes);
  }
  SUBCASE("within host memory, in the stream's order") {
    std::vector<char> between(kBytes, 0);
    device.copy_async(between.data(), memory.slot(0), kBytes, *writer);
    device.copy_async(out.data(), between.data(), kBytes, *writer);
    writer->synchronize();
  }
  CHECK((out == last));
}

TEST_CASE("OpenCL: a stream goes on when another has done what it had") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  SlotBuffer memory(device.memory(BufferKind::kDevice), kBytes, 1);
  const std::vector<char> first(kBytes, 'a');
  const std::vector<char> second(kBytes, 'b');
  std::vector<char> out(kBytes, 0);
  std::vector<char> last(kBytes, 0);
  const auto writer = device.new_stream();
  const auto reader = device.new_background_stream();
  for (int i = 0; i < 10; ++i) device.copy_async(memory.slot(0), first.data(), kBytes, *writer);
  reader->wait_for(*writer);
  device.copy_async(out.data(), memory.slot(0), kBytes, *reader);
  writer->wait_for(*reader);
  device.copy_async(memory.slot(0), second.data(), kBytes, *writer);
  reader->wait_for(*writer);
  device.copy_async(last.data(), memory.slot(0), kBytes, *reader);
  reader->synchronize();
  CHECK((out == first));
  CHECK((last == second));
}

TEST_CASE("OpenCL: memory that there is not is told from other errors") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  for (const char letter : kinds_of(device)) {
    if (letter == 'H') continue;
    Memory& memory = device.memory(buffer_kind(letter));
    try {
      memory.allocate(std::size_t{1} << 46);
      FAIL("there is no such memory");
    } catch (const AcceleratorOutOfMemory& error) {
      const std::string text = error.what();
      CHECK_MESSAGE(text.find(" B) on OpenCL device 0: ") != text.npos, text);
      CHECK_MESSAGE(text.rfind("cl", 0) == 0, text);
    }
    SlotBuffer some(memory, 64, 1);  // the device stays usable
    some.fill({1});
    CHECK_FALSE(some.find_mismatch({1}, Part::kStamps));
  }
}

TEST_CASE("OpenCL: nothing is shared with other processes, and no kernel moves data") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  CHECK(device.ipc() == nullptr);
  CHECK(device.registration() == nullptr);
  CHECK_THROWS_WITH_AS(device.kernels()->motion(), "this backend has no kernels that move data",
                       BackendUnavailable);
}

TEST_CASE("OpenCL: kernels take memory and values") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  const auto program = device.kernels()->compile(kSource);
  const auto add = program->kernel("add");
  const auto stream = device.new_stream();
  constexpr int kCount = 64;
  constexpr std::size_t kStart = 4096;  // of a part that begins within its allocation
  const int value = 5;
  const double scale[2] = {0, 2};
  for (const char letter : kinds_of(device)) {
    if (letter == 'H' || letter == 'P') continue;
    SlotBuffer memory(device.memory(buffer_kind(letter)), 2 * kStart, 1);
    std::vector<int> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), 0);
    void* const whole = memory.slot(0);
    void* const part = memory.slot(0) + kStart;
    for (void* const data : {whole, part}) device.copy(data, numbers.data(), kCount * sizeof(int));
    for (const void* const data : {whole, part, part})
      add->launch({kCount / 16, 16}, {&data, &value, scale}, *stream);
    std::vector<int> once(kCount), twice(kCount);
    device.copy_async(once.data(), whole, kCount * sizeof(int), *stream);
    device.copy_async(twice.data(), part, kCount * sizeof(int), *stream);
    stream->synchronize();
    for (int i = 0; i < kCount; ++i) {
      CHECK(once[i] == i + 10);
      CHECK(twice[i] == i + 20);
    }
  }
}

TEST_CASE("OpenCL: what a kernel cannot have is said before it runs") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  Device& device = opencl->device(0);
  try {
    device.kernels()->compile("kernel void broken() { nonsense; }");
    FAIL("it compiled");
  } catch (const AcceleratorError& error) {
    const std::string text = error.what();
    CHECK_MESSAGE(
        text.rfind("clBuildProgram on OpenCL device 0: CL_BUILD_PROGRAM_FAILURE\n", 0) == 0, text);
    CHECK(text.find("nonsense") != text.npos);  // the compiler's log
  }
  const auto program = device.kernels()->compile(kSource);
  CHECK_THROWS_WITH_AS(program->kernel("none"),
                       "clCreateKernel(none) on OpenCL device 0: CL_INVALID_KERNEL_NAME",
                       AcceleratorError);
  CHECK_THROWS_WITH_AS(program->kernel("odd"),
                       doctest::Contains("parameter 0 of odd is a 'triple'"), AcceleratorError);
  const auto add = program->kernel("add");
  const auto stream = device.new_stream();
  const int value = 1;
  const double scale[2] = {1, 1};
  const auto launch = [&](const void* data) {
    add->launch({1, 1}, {&data, &value, scale}, *stream);
  };
  char host[64];
  CHECK_THROWS_WITH_AS(launch(host),
                       "launch(add, 0) on OpenCL device 0: the address is not in its memory of the "
                       "kinds D and M",
                       AcceleratorError);
  SlotBuffer memory(device.memory(BufferKind::kDevice), 64, 1);
  CHECK_THROWS_WITH_AS(launch(memory.slot(0) + 4), doctest::Contains("begins at a multiple of"),
                       AcceleratorError);
  SlotBuffer pinned(device.memory(BufferKind::kPinned), 64, 1);
  CHECK_THROWS_AS(launch(pinned.slot(0)), AcceleratorError);
  CHECK_THROWS_WITH_AS(add->launch({1, 1}, {&value}, *stream),
                       "launch(add) with 1 arguments: it has 3", AcceleratorError);
}

TEST_CASE("OpenCL: two backends work at once") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  const FakeCuda fake;
  const auto cuda = FakeCuda::load();
  SlotBuffer here(opencl->device(0).memory(BufferKind::kDevice), 1000, 3);
  SlotBuffer there(cuda->device(0).memory(BufferKind::kDevice), 1000, 3);
  here.fill({6});
  there.poison(6);
  std::vector<char> host(1000);
  for (int i = 0; i < 3; ++i) {
    opencl->device(0).copy(host.data(), here.slot(i), 1000);
    cuda->device(0).copy(there.slot(i), host.data(), 1000);
  }
  CHECK_FALSE(there.find_mismatch({6}));
}
