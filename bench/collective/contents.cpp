// SPDX-License-Identifier: Apache-2.0
#include "collective/contents.hpp"

#include <stdexcept>

namespace nearpeak {
namespace {

class Blocks final : public Contents {
 public:
  Blocks(const CaseContext& context, std::size_t out_bytes, std::vector<Block> received,
         std::vector<Block> or_else)
      : rank_(context.group.rank()),
        size_(context.bytes),
        out_bytes_(out_bytes),
        received_(std::move(received)),
        or_else_(std::move(or_else)) {}

  void write(Memory& memory, void* to, std::uint64_t round) const override {
    memory.fill(to, {.bytes = out_bytes_, .stride = out_bytes_, .count = 1}, of(rank_, round),
                Part::kAll);
  }
  std::optional<Mismatch> find_wrong(const unsigned char* in, std::uint64_t round) const override {
    const auto bad = find_wrong(in, received_, round);
    if (bad && !or_else_.empty() && !find_wrong(in, or_else_, round)) return std::nullopt;
    return bad;
  }

 private:
  std::optional<Mismatch> find_wrong(const unsigned char* in, const std::vector<Block>& expected,
                                     std::uint64_t round) const {
    std::size_t at = 0;
    for (const Block& block : expected) {
      auto bad = find_mismatch(in + at, Slice{.payload = of(block.rank, round),
                                              .whole = block.whole,
                                              .from = block.from,
                                              .bytes = block.bytes});
      if (bad) {
        bad->byte += at;
        return bad;
      }
      at += block.bytes;
    }
    return std::nullopt;
  }
  Payload of(int rank, std::uint64_t round) const { return {payload_seed(rank, size_), round}; }

  const int rank_;
  const std::size_t size_;
  const std::size_t out_bytes_;
  const std::vector<Block> received_;
  const std::vector<Block> or_else_;
};

class SumsOfNumbers final : public Contents {
 public:
  SumsOfNumbers(const CaseContext& context, const NumberType& type, Sums sums)
      : rank_(context.group.rank()), numbers_(type, context.group.size()), sums_(sums) {}

  void write(Memory& memory, void* to, std::uint64_t round) const override {
    std::vector<unsigned char> mine(sums_.count * numbers_.bytes());
    numbers_.fill(mine.data(), 0, sums_.count, rank_, round);
    memory.from_host(to, mine.data(), mine.size());
  }
  std::optional<Mismatch> find_wrong(const unsigned char* in, std::uint64_t round) const override {
    return numbers_.find_wrong_sum(in, sums_.first, sums_.received, sums_.ranks, round);
  }

 private:
  const int rank_;
  const Numbers numbers_;
  const Sums sums_;
};

}  // namespace

std::unique_ptr<Contents> blocks(const CaseContext& context, std::size_t out_bytes,
                                 std::vector<Block> received, std::vector<Block> or_else) {
  return std::make_unique<Blocks>(context, out_bytes, std::move(received), std::move(or_else));
}

std::unique_ptr<Contents> sums(const CaseContext& context, const NumberType& type, Sums sums) {
  try {
    return std::make_unique<SumsOfNumbers>(context, type, sums);
  } catch (const std::range_error& error) {
    throw Unfit(error.what());
  }
}

}  // namespace nearpeak
