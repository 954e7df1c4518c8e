// SPDX-License-Identifier: Apache-2.0
// The kernels that wait for flags, on the fake driver.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "accel/kernels/kernels.hpp"
#include "tests/accel/fake.hpp"

using namespace nearpeak;

namespace {

struct FakeCudaWithKernels : FakeCuda {
  FakeCudaWithKernels() : FakeCuda("", FAKE_CUDA, FAKE_NVRTC) {}
};

}  // namespace

TEST_CASE("a kernel that waits for the host runs until then, and its stream is not finished") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  constexpr std::uint64_t kStop = ~std::uint64_t{0};
  constexpr std::uint64_t kPatienceNs = 60'000'000'000;
  const auto program = device.kernels()->motion();
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

TEST_CASE("messages between kernels arrive whole, and nothing beside them") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto program = device.kernels()->motion();
  const auto kernel = program->kernel("pass_messages");
  Memory& memory = device.memory(BufferKind::kDevice);
  for (const std::uint64_t bytes : {1u, 8u, 13u, 64u, 1000u}) {
    SlotBuffer out(memory, bytes, 2);
    SlotBuffer in(memory, bytes, 2);
    SlotBuffer boxes(memory, 2 * SlotBuffer::stride(bytes), 2);
    SlotBuffer times(device.memory(BufferKind::kPinned), 64, 2);
    const std::vector<char> zero(boxes.layout().stride * 2);
    device.copy(boxes.slot(0), zero.data(), zero.size());
    std::memset(times.slot(0), 0, 128);
    out.fill({5});
    in.poison(5);
    std::unique_ptr<Stream> streams[2];
    for (const int end : {0, 1}) {
      streams[end] = device.new_stream();
      const void* const peer_box = boxes.slot(1 - end);
      const void* const box = boxes.slot(end);
      const void* const from = out.slot(1 - end);  // what the other is to have in that slot
      const void* const to = in.slot(end);
      const void* const time = times.slot(end);
      const std::uint64_t rounds = 3, samples = 2, leads = end == 0 ? 1 : 0;
      const std::uint64_t patience_ns = 60'000'000'000;
      kernel->launch(
          {1, 64},
          {&peer_box, &box, &from, &to, &bytes, &rounds, &samples, &leads, &patience_ns, &time},
          *streams[end]);
    }
    for (const auto& stream : streams) stream->synchronize();
    CHECK_FALSE(in.find_mismatch({5}));
    std::uint64_t time_ns[2];
    std::memcpy(time_ns, times.slot(0), sizeof(time_ns));
    CHECK(time_ns[0] > 0);
    CHECK(time_ns[1] > 0);
  }
}

TEST_CASE("kernels that nobody answers give up") {
  const FakeCudaWithKernels fake;
  const auto cuda = FakeCuda::load();
  Device& device = cuda->device(0);
  const auto program = device.kernels()->motion();
  const auto stream = device.new_stream();
  SlotBuffer memory(device.memory(BufferKind::kPinned), 128, 5);
  std::memset(memory.slot(0), 0, 5 * memory.layout().stride);
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
  std::uint32_t sent[4] = {};
  std::uint64_t time_ns = 1;
  std::memcpy(sent, slot[0], sizeof(sent));
  std::memcpy(&time_ns, slot[4], sizeof(time_ns));
  CHECK(sent[1] == 1);
  CHECK(sent[3] == 1);
  CHECK(time_ns == 0);
}
