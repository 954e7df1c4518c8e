// SPDX-License-Identifier: Apache-2.0
#include "accel/block_mover.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace nearpeak {
namespace {

constexpr std::size_t kMostLevels = 4;

}  // namespace

BlockMover::BlockMover(Device& device)
    : program_(kernels_of(device).persistent_copy()),
      kernel_(program_->kernel("move_blocks")),
      stream_(device.new_stream()),
      most_blocks_(std::uint64_t{8} * device.kernels()->multiprocessors()) {}

bool BlockMover::takes(const Layout& layout) {
  constexpr std::uint64_t kMost = ~std::uint32_t{0};  // what the kernel counts
  return layout.levels.size() <= kMostLevels && layout.block > 0 && layout.bytes() < kMost;
}

void BlockMover::pack(void* packed, const Layout& layout, const void* data, std::uint64_t bytes) {
  move(layout, packed, static_cast<const char*>(data) + layout.offset, bytes, Packed::kTarget);
}

void BlockMover::unpack(const Layout& layout, void* data, const void* packed, std::uint64_t bytes) {
  move(layout, static_cast<char*>(data) + layout.offset, packed, bytes, Packed::kSource);
}

void BlockMover::copy(const Layout& layout, void* to, const void* from) {
  move(layout, static_cast<char*>(to) + layout.offset,
       static_cast<const char*>(from) + layout.offset, layout.bytes(), Packed::kNeither);
}

// A thread copies as many bytes at once as divide all of these numbers.
void BlockMover::move(const Layout& layout, void* to, const void* from, std::uint64_t bytes,
                      Packed packed) {
  constexpr std::uint64_t kWidest = 16;
  constexpr std::uint64_t kOfABlock = 256;
  struct Places {
    std::uint64_t count = 1, to = 0, from = 0;
  };
  // The last ones: the kernel needs no count of the very last.
  std::array<Places, kMostLevels> all;
  std::uint64_t alike = std::gcd(kWidest, std::gcd(layout.block, bytes));
  alike = std::gcd(alike, reinterpret_cast<std::uint64_t>(to));
  alike = std::gcd(alike, reinterpret_cast<std::uint64_t>(from));
  std::uint64_t dense = layout.block;
  for (std::size_t i = 0; i < layout.levels.size(); ++i) {
    const auto [count, stride] = layout.levels[i];
    const auto there = static_cast<std::uint64_t>(stride);  // of a negative one the sum is right
    Places& places = all[kMostLevels - layout.levels.size() + i];
    places = {.count = count,
              .to = packed == Packed::kTarget ? dense : there,
              .from = packed == Packed::kSource ? dense : there};
    alike = std::gcd(alike, there);
    dense *= count;
  }
  const std::uint64_t threads = (bytes / alike + kOfABlock - 1) / kOfABlock;
  const LaunchShape shape{
      .blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(threads, 1, most_blocks_)),
      .threads = kOfABlock};
  kernel_->launch(shape,
                  {&to, &from, &bytes, &alike, &layout.block,  //
                   &all[0].count, &all[0].to, &all[0].from,    //
                   &all[1].count, &all[1].to, &all[1].from,    //
                   &all[2].count, &all[2].to, &all[2].from,    //
                   &all[3].to, &all[3].from},
                  *stream_);
  stream_->synchronize();
}

}  // namespace nearpeak
