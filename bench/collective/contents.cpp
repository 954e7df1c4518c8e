// SPDX-License-Identifier: Apache-2.0
#include "collective/contents.hpp"

#include <algorithm>
#include <stdexcept>

namespace nearpeak {
namespace {

class BlockContents final : public Contents {
 public:
  BlockContents(const CaseContext& context, std::size_t out_bytes, std::vector<Block> received,
                std::vector<Block> or_else)
      : rank_(context.group.rank()),
        size_(context.bytes),
        out_bytes_(out_bytes),
        received_(std::move(received)),
        or_else_(std::move(or_else)) {}

  void write(Memory& memory, void* to, std::uint64_t round, Scratch&) const override {
    memory.fill(to, {.bytes = out_bytes_, .stride = out_bytes_, .count = 1}, of(rank_, round),
                Part::kAll);
  }
  std::size_t ways() const override { return or_else_.empty() ? 1 : 2; }
  std::optional<Mismatch> find_wrong(const ReceivedPiece& piece, std::uint64_t round,
                                     std::size_t way) const override {
    std::size_t at = 0;
    for (const Block& block : way == 0 ? received_ : or_else_) {
      const std::size_t first = std::max(at, piece.from);
      const std::size_t end = std::min(at + block.bytes, piece.from + piece.bytes);
      if (first < end) {
        auto bad = find_mismatch(piece.data + (first - piece.from),
                                 Slice{.payload = of(block.rank, round),
                                       .whole = block.whole,
                                       .from = block.from + (first - at),
                                       .bytes = end - first});
        if (bad) {
          bad->byte += first;
          return bad;
        }
      }
      at += block.bytes;
    }
    return std::nullopt;
  }

 private:
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

  void write(Memory& memory, void* to, std::uint64_t round, Scratch& scratch) const override {
    const std::size_t most = scratch.size() / numbers_.bytes();
    for (std::size_t done = 0; done < sums_.count; done += most) {
      const std::size_t count = std::min(most, sums_.count - done);
      numbers_.fill(scratch.data(), done, count, rank_, round);
      memory.from_host(static_cast<char*>(to) + done * numbers_.bytes(), scratch.data(),
                       count * numbers_.bytes());
    }
  }
  std::optional<Mismatch> find_wrong(const ReceivedPiece& piece, std::uint64_t round,
                                     std::size_t) const override {
    const std::size_t before = piece.from / numbers_.bytes();
    if (before >= sums_.received) return std::nullopt;
    const std::size_t count = std::min(piece.bytes / numbers_.bytes(), sums_.received - before);
    auto bad = numbers_.find_wrong_sum(piece.data, sums_.first + before, count, sums_.ranks, round);
    if (bad) bad->byte += piece.from;
    return bad;
  }

 private:
  const int rank_;
  const Numbers numbers_;
  const Sums sums_;
};

}  // namespace

std::unique_ptr<Contents> blocks(const CaseContext& context, std::size_t out_bytes,
                                 std::vector<Block> received, std::vector<Block> or_else) {
  return std::make_unique<BlockContents>(context, out_bytes, std::move(received),
                                         std::move(or_else));
}

std::unique_ptr<Contents> sums(const CaseContext& context, const NumberType& type, Sums sums) {
  try {
    return std::make_unique<SumsOfNumbers>(context, type, sums);
  } catch (const std::range_error& error) {
    throw Unfit(error.what());
  }
}

}  // namespace nearpeak
