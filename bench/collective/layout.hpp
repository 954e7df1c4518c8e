// SPDX-License-Identifier: Apache-2.0
// Which block goes where: what several operations have in common, that differ in their calls alone,
// whichever library has them. Each rank's blocks have as many bytes as the size that is measured,
// unless it is said otherwise.
#pragma once

#include <memory>
#include <vector>

#include "collective/case.hpp"

namespace nearpeak {

class CollectiveOperation {
 public:
  explicit CollectiveOperation(const CaseContext& context) : context_(context) {}
  Group& group() const { return context_.group; }

 protected:
  int rank() const { return context_.group.rank(); }
  int ranks() const { return context_.group.size(); }
  int partners() const { return ranks(); }
  bool is_root() const { return context_.group.leads(); }
  std::size_t bytes() const { return context_.bytes; }
  std::size_t all_bytes() const { return bytes() * static_cast<std::size_t>(ranks()); }
  int count() const { return static_cast<int>(bytes()); }
  // Where the block of a rank lies among those of all.
  std::size_t place_of(int rank) const { return bytes() * static_cast<std::size_t>(rank); }
  // The block for `receiver` of a sender that has one for every rank.
  Block block_for(int receiver, int sender) const {
    return {.rank = sender, .whole = all_bytes(), .from = place_of(receiver), .bytes = bytes()};
  }
  // All that a sender has.
  Block block_of(int sender) const {
    return {.rank = sender, .whole = bytes(), .from = 0, .bytes = bytes()};
  }
  template <class BlockOf>
  std::vector<Block> from_all(BlockOf of) const {
    std::vector<Block> all;
    for (int sender = 0; sender < ranks(); ++sender) all.push_back(of(sender));
    return all;
  }
  std::optional<std::size_t> in_place_at(std::size_t place) const {
    return is_in_place(context_) ? std::optional(place) : std::nullopt;
  }
  const CaseContext& context() const { return context_; }

 private:
  CaseContext context_;
};

// The blocks of all ranks, to the root.
class ToRoot : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const {
    return {.out_bytes = bytes(),
            .in_bytes = is_root() ? all_bytes() : 0,
            .in_place = is_root() ? in_place_at(place_of(rank())) : std::nullopt};
  }
  std::unique_ptr<Contents> contents() const {
    return blocks(
        context(), bytes(),
        is_root() ? from_all([&](int sender) { return block_of(sender); }) : std::vector<Block>{});
  }
};

// The root's blocks, one to each rank. In place the root's own stays where it is.
class FromRoot : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const {
    return {.out_bytes = is_root() ? all_bytes() : 0, .in_bytes = receives() ? bytes() : 0};
  }
  std::unique_ptr<Contents> contents() const {
    return blocks(
        context(), is_root() ? all_bytes() : 0,
        receives() ? std::vector<Block>{block_for(rank(), kLeaderRank)} : std::vector<Block>{});
  }

 protected:
  bool receives() const { return !(is_root() && is_in_place(context())); }
};

// The root's block, to every other rank.
class ToOthers : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const {
    return {.out_bytes = is_root() ? bytes() : 0, .in_bytes = is_root() ? 0 : bytes()};
  }
  std::unique_ptr<Contents> contents() const {
    if (is_root()) return blocks(context(), bytes(), {});
    return blocks(context(), 0, {block_of(kLeaderRank)});
  }
};

// The blocks of all ranks, to every rank.
class ToAll : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const {
    return {
        .out_bytes = bytes(), .in_bytes = all_bytes(), .in_place = in_place_at(place_of(rank()))};
  }
  std::unique_ptr<Contents> contents() const {
    return blocks(context(), bytes(), from_all([&](int sender) { return block_of(sender); }));
  }
};

// A block of every rank for every rank.
class AllToAll : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const {
    return {.out_bytes = all_bytes(),
            .in_bytes = all_bytes(),
            .in_place = in_place_at(0),
            .overwritten = true};
  }
  std::unique_ptr<Contents> contents() const {
    return blocks(context(), all_bytes(),
                  from_all([&](int sender) { return block_for(rank(), sender); }));
  }
};

// Sums of numbers: of as many as each rank has, to every rank. `Elements`: Addends with what the
// library calls their type.
template <class Elements>
class Summing : public CollectiveOperation {
 public:
  explicit Summing(const CaseContext& context) : CollectiveOperation(context), elements_(context) {}
  CollectiveBuffers buffers() const {
    return {
        .out_bytes = bytes(), .in_bytes = bytes(), .in_place = in_place_at(0), .overwritten = true};
  }

 protected:
  // All sums over the ranks below `ranks`, or nothing where this rank receives none.
  std::unique_ptr<Contents> all_sums(bool receives, int ranks) const {
    return sums(context(), elements_.type,
                {.count = elements_.count,
                 .first = 0,
                 .received = receives ? elements_.count : 0,
                 .ranks = ranks});
  }
  const Elements& elements() const { return elements_; }
  int numbers() const { return static_cast<int>(elements_.count); }

 private:
  Elements elements_;
};

// The same, to the root alone.
template <class Elements>
class SummingToRoot : public Summing<Elements> {
 public:
  using Summing<Elements>::Summing;
  CollectiveBuffers buffers() const {
    CollectiveBuffers all = Summing<Elements>::buffers();
    if (this->is_root()) return all;
    all.in_bytes = 0;
    all.in_place.reset();
    return all;
  }
  std::unique_ptr<Contents> contents() const {
    return this->all_sums(this->is_root(), this->ranks());
  }
};

// Of the numbers that each rank has for every rank, the sums of its own to each.
template <class Elements>
class SummingBlocks : public Summing<Elements> {
 public:
  using Summing<Elements>::Summing;
  CollectiveBuffers buffers() const {
    CollectiveBuffers all = Summing<Elements>::buffers();
    all.out_bytes = this->all_bytes();
    return all;
  }
  std::unique_ptr<Contents> contents() const {
    const std::size_t count = this->elements().count;
    return sums(this->context(), this->elements().type,
                {.count = count * static_cast<std::size_t>(this->ranks()),
                 .first = count * static_cast<std::size_t>(this->rank()),
                 .received = count,
                 .ranks = this->ranks()});
  }
};

}  // namespace nearpeak
