// SPDX-License-Identifier: Apache-2.0
#include "accel/reducer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace nearpeak {
namespace {

using Kind = Combination::Kind;
using Operation = Combination::Operation;

}  // namespace

bool Combination::known() const {
  if (kind == Kind::kFloating) return (bytes == 4 || bytes == 8) && operation <= Operation::kMin;
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

Combination Combination::alike() const {
  Combination out = *this;
  const bool by_order = operation == Operation::kMax || operation == Operation::kMin;
  if (kind == Kind::kSigned && !by_order) out.kind = Kind::kUnsigned;
  return out;
}

Reducer::Reducer(Device& device, const Combination& reduction)
    : bytes_(reduction.bytes),
      program_(kernels_of(device).reduction(reduction)),
      kernel_(program_->kernel("reduce")),
      stream_(device.new_stream()) {}

void Reducer::reduce(void* to, const std::vector<const void*>& from, std::size_t count) {
  // As many as keep a link busy: of those that wait for memory of another device more are no gain,
  // and others need the multiprocessors.
  constexpr unsigned kThreads = 512;
  constexpr std::uint64_t kMostBlocks = 64;
  if (count == 0) return;
  std::array<const void*, kMost> all{};
  std::uint64_t together = reinterpret_cast<std::uint64_t>(to);
  for (std::size_t i = 0; i < kMost; ++i) {
    all[i] = from[i < from.size() ? i : 0];
    together |= reinterpret_cast<std::uint64_t>(all[i]);
  }
  const std::uint64_t ranks = from.size();
  const std::uint64_t elements = count;
  const std::uint64_t quads = together % 16 == 0 ? count * bytes_ / 16 : 0;
  const std::uint64_t threads = std::max<std::uint64_t>(quads, quads == 0 ? count : 0);
  const auto blocks =
      std::clamp<std::uint64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks);
  kernel_->launch({.blocks = static_cast<unsigned>(blocks), .threads = kThreads},
                  {&to, &all[0], &all[1], &all[2], &all[3], &all[4], &all[5], &all[6], &all[7],
                   &ranks, &elements, &quads},
                  *stream_);
  stream_->synchronize();
}

}  // namespace nearpeak
