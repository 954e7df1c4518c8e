// SPDX-License-Identifier: Apache-2.0
// What ranks send in a collective operation, and what each must have received: blocks of what
// others have, or sums of their numbers. No operation verifies anything itself.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {

// Host memory through which buffers are written and looked at, piece by piece: they may be large.
using Scratch = std::vector<unsigned char>;
// Of it; of whole numbers of any type, and of whole cache lines.
inline constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Of what a rank has received: the bytes from `from` on, in host memory.
struct ReceivedPiece {
  const unsigned char* data;
  std::size_t from;
  std::size_t bytes;
};

class Contents {
 public:
  virtual ~Contents() = default;
  // What this rank sends in a round, to any address of this memory.
  virtual void write(Memory& memory, void* to, std::uint64_t round, Scratch& scratch) const = 0;
  // In how many ways it may have been received, each as right as the others.
  virtual std::size_t ways() const { return 1; }
  // What is wrong with a piece of what was received in such a way; counted from the first byte.
  virtual std::optional<Mismatch> find_wrong(const ReceivedPiece& piece, std::uint64_t round,
                                             std::size_t way) const = 0;
};

// Of what `rank` sends, which is `whole` bytes, those from byte `from` on.
struct Block {
  int rank;
  std::size_t whole;
  std::size_t from;
  std::size_t bytes;
};

// This rank sends `out_bytes` of a pattern of its own, and receives blocks one after the other, or
// those of `or_else`, if there are any.
std::unique_ptr<Contents> blocks(const CaseContext& context, std::size_t out_bytes,
                                 std::vector<Block> received, std::vector<Block> or_else = {});

// This rank contributes `count` numbers, and receives `received` sums from the one at `first` on,
// over the ranks below `ranks`. Throws Unfit where the type is too narrow for exact ones.
struct Sums {
  std::size_t count;
  std::size_t first;
  std::size_t received;
  int ranks;
};
std::unique_ptr<Contents> sums(const CaseContext& context, const NumberType& type, Sums sums);

}  // namespace nearpeak
