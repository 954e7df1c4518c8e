// SPDX-License-Identifier: Apache-2.0
#include "stream/chain.hpp"

#include <algorithm>
#include <cstring>

#include "accel/kernels/kernels.hpp"
#include "benchmark/check_memory.hpp"

namespace nearpeak {
namespace {

constexpr unsigned kThreads = 512;   // of the block
constexpr std::uint64_t kTimes = 2;  // of a kernel: its begin and its end

std::string why_not(const CaseContext& context) {
  if (context.kind != BufferKind::kDevice || context.device == nullptr)
    return "kernels hand over memory of a device, and rank " +
           std::to_string(context.group.rank()) + " has none: give --buffers D";
  return why_no_kernels(*context.device);
}

// Before anything is taken. Collective.
std::size_t checked_bytes(const CaseContext& context) {
  if (const std::string why = context.group.first_reason(why_not(context)); !why.empty())
    throw Unfit(why);
  const std::size_t stride = SlotBuffer::stride(context.bytes);
  check_memory(context, {.all = (ChainCase::kMessages + 4) * stride, .scratch = stride});
  return context.bytes;
}

void put_double(std::vector<char>& to, std::size_t index, double value) {
  std::memcpy(to.data() + index * sizeof(value), &value, sizeof(value));
}

// Whole numbers, whose sums are exact.
double number_of(int rank, std::uint64_t round, std::size_t index) {
  return static_cast<double>((static_cast<std::uint64_t>(rank) + 1) * (round % 1000 + 1) +
                             index % 97);
}

}  // namespace

ChainCase::ChainCase(const CaseContext& context, Stream* stream, HandedOver sent,
                     HandedOver received)
    : bytes_(checked_bytes(context)),
      sent_(std::move(sent)),
      received_(std::move(received)),
      own_stream_(stream == nullptr ? context.device->new_stream() : nullptr),
      stream_(stream == nullptr ? *own_stream_ : *stream),
      phases_({"handoff"}) {
  on_every_rank(context.group, [&] {
    Memory& device = context.device->memory(BufferKind::kDevice);
    out_.emplace(context.memory, bytes_, 1);
    in_.emplace(context.memory, bytes_, 1);
    source_.emplace(device, bytes_, 1);
    seen_.emplace(device, bytes_, kMessages + 1);
    times_.emplace(device, (kMessages + 1) * kTimes * sizeof(std::uint64_t), 1);
    program_ = kernels_of(*context.device).compile(kernels::handing_over());
    kernel_ = program_->kernel("hand_over");
    launch(0);  // so that it is loaded
    stream_.synchronize();
  });
}

void ChainCase::launch(std::uint64_t kernel) const {
  const void* const seen = seen_->slot(kernel);
  const void* const in = in_->slot(0);
  const void* const out = out_->slot(0);
  const void* const source = source_->slot(0);
  const std::uint64_t bytes = bytes_;
  const void* const times = times_->slot(0);
  kernel_->launch({.blocks = 1, .threads = kThreads},
                  {&seen, &in, &out, &source, &bytes, &times, &kernel}, stream_);
}

void ChainCase::give() {
  launch(0);
  for (std::uint64_t kernel = 1; kernel <= kMessages; ++kernel) {
    message();
    launch(kernel);
  }
}

void ChainCase::run(std::uint64_t n) {
  phases_.clear();
  for (std::uint64_t i = 0; i < n; ++i) {
    chain();
    add_gaps();
  }
}

void ChainCase::add_gaps() {
  std::vector<std::uint64_t> times((kMessages + 1) * kTimes);
  times_->memory().to_host(times.data(), times_->slot(0), times.size() * sizeof(times[0]));
  for (std::uint64_t kernel = 1; kernel <= kMessages; ++kernel) {
    const std::uint64_t begin = times[kernel * kTimes];
    const std::uint64_t end_before = times[kernel * kTimes - 1];
    phases_.add(0, static_cast<double>(begin) - static_cast<double>(end_before));
  }
}

// What is received is cleared by the kernel that has read it: a message that did not come is seen.
void ChainCase::begin_round(std::uint64_t round, Part) {
  const std::vector<char> mine = sent_(round);
  source_->memory().from_host(source_->slot(0), mine.data(), mine.size());
  const std::vector<char> none(bytes_);
  out_->memory().from_host(out_->slot(0), none.data(), bytes_);
  in_->memory().from_host(in_->slot(0), none.data(), bytes_);
}

std::optional<Mismatch> ChainCase::wrong(std::uint64_t round, Part) const {
  const std::vector<char> expected = received_(round);
  std::vector<char> seen(bytes_);
  for (std::uint64_t kernel = 1; kernel <= kMessages; ++kernel) {
    seen_->memory().to_host(seen.data(), seen_->slot(kernel), bytes_);
    const auto [got, right] = std::mismatch(seen.begin(), seen.end(), expected.begin());
    if (got != seen.end())
      return Mismatch{.slot = kernel,
                      .byte = static_cast<std::size_t>(got - seen.begin()),
                      .expected = static_cast<unsigned char>(*right),
                      .got = static_cast<unsigned char>(*got)};
  }
  return std::nullopt;
}

Benchmark handoff(BenchmarkInfo info, std::vector<Axis> axes,
                  std::function<std::unique_ptr<Case>(const CaseContext&)> make) {
  info.metrics = {{info.name, "us", "lower"}};
  info.largest = kLargestHandedOver;
  info.sync = Sync::kBarrier;
  info.reduce = Reduce::kMaximum;  // the GPU that waits longest
  info.axes = std::move(axes);
  return {.info = std::move(info), .make = std::move(make)};
}

HandedOver halo_of(int sender, std::size_t bytes) {
  return [=](std::uint64_t round) {
    std::vector<char> halo(bytes);
    const std::size_t seed = static_cast<std::size_t>(sender) * 71 + round * 13 + 1;
    for (std::size_t i = 0; i < bytes; ++i)
      halo[i] = static_cast<char>((seed + i * 167 + i / 251) % 255 + 1);  // none is 0
    return halo;
  };
}

HandedOver doubles_of(int rank, std::size_t bytes) {
  return [=](std::uint64_t round) {
    std::vector<char> all(bytes);
    for (std::size_t i = 0; i < bytes / sizeof(double); ++i)
      put_double(all, i, number_of(rank, round, i));
    return all;
  };
}

HandedOver sums_of_doubles(int ranks, std::size_t bytes) {
  return [=](std::uint64_t round) {
    std::vector<char> all(bytes);
    for (std::size_t i = 0; i < bytes / sizeof(double); ++i) {
      double sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += number_of(rank, round, i);
      put_double(all, i, sum);
    }
    return all;
  };
}

}  // namespace nearpeak
