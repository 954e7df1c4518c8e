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
  for (std::size_t i = 0; i < kMost; ++i) all[i] = from[i < from.size() ? i : 0];
  const std::uint64_t ranks = from.size();
  const std::uint64_t elements = count;
  // Sixteen bytes at a time where all vectors lie alike between multiples of 16, behind the first
  // such place.
  constexpr std::uint64_t kQuad = 16;
  const auto beyond = [](const void* at) { return reinterpret_cast<std::uint64_t>(at) % kQuad; };
  const bool alike = std::all_of(all.begin(), all.end(),
                                 [&](const void* each) { return beyond(each) == beyond(all[0]); });
  const std::uint64_t head =
      alike ? std::min(elements, (kQuad - beyond(all[0])) % kQuad / bytes_) : 0;
  const std::uint64_t quads = alike ? (elements - head) * bytes_ / kQuad : 0;
  const std::uint64_t threads = quads > 0 ? quads : elements;
  const auto blocks =
      std::clamp<std::uint64_t>((threads + kThreads - 1) / kThreads, 1, kMostBlocks);
  kernel_->launch({.blocks = static_cast<unsigned>(blocks), .threads = kThreads},
                  {&to, &all[0], &all[1], &all[2], &all[3], &all[4], &all[5], &all[6], &all[7],
                   &ranks, &elements, &head, &quads},
                  *stream_);
  stream_->synchronize();
}

}  // namespace nearpeak
