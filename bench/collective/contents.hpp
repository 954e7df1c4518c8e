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

class Contents {
 public:
  virtual ~Contents() = default;
  // What this rank sends in a round, to any address of this memory.
  virtual void write(Memory& memory, void* to, std::uint64_t round) const = 0;
  // What is wrong with what it has received, seen in host memory; counted from `in`.
  virtual std::optional<Mismatch> find_wrong(const unsigned char* in,
                                             std::uint64_t round) const = 0;
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
