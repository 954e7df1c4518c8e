// SPDX-License-Identifier: Apache-2.0
// Which block goes where: what several operations have in common, that differ in their calls alone.
// Each rank's blocks have as many bytes as the size that is measured, unless it is said otherwise.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "collective/collective.hpp"

namespace nearpeak {

class Operation {
 public:
  explicit Operation(const CaseContext& context) : context_(context) {}
  MPI_Comm comm() const { return comm_of(context_.group); }

 protected:
  int rank() const { return context_.group.rank(); }
  int ranks() const { return context_.group.size(); }
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

// The arguments of operations that take a count for each rank: equal ones, as in OMB and IMB.
struct Counts {
  // Throws Unfit where the displacements are no int.
  Counts(std::size_t bytes, int ranks)
      : counts(static_cast<std::size_t>(ranks), static_cast<int>(bytes)),
        types(static_cast<std::size_t>(ranks), MPI_BYTE) {
    if (bytes * static_cast<std::size_t>(ranks) >
        static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Unfit("the blocks of " + std::to_string(ranks) +
                  " ranks are more bytes than an int counts: choose smaller sizes");
    for (int rank = 0; rank < ranks; ++rank) {
      displacements.push_back(rank * static_cast<int>(bytes));
      addresses.push_back(displacements.back());
    }
  }

  std::vector<int> counts;
  std::vector<int> displacements = {};
  std::vector<MPI_Aint> addresses = {};
  std::vector<MPI_Datatype> types;
};

// The blocks of all ranks, to the root.
class ToRoot : public Operation {
 public:
  using Operation::Operation;
  Places places() const {
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
class FromRoot : public Operation {
 public:
  using Operation::Operation;
  Places places() const {
    return {.out_bytes = is_root() ? all_bytes() : 0, .in_bytes = receives() ? bytes() : 0};
  }
  std::unique_ptr<Contents> contents() const {
    return blocks(
        context(), is_root() ? all_bytes() : 0,
        receives() ? std::vector<Block>{block_for(rank(), kLeaderRank)} : std::vector<Block>{});
  }

 protected:
  bool receives() const { return !(is_root() && is_in_place(context())); }
  void* place(void* in) const { return receives() ? in : MPI_IN_PLACE; }
};

// The blocks of all ranks, to every rank.
class ToAll : public Operation {
 public:
  using Operation::Operation;
  Places places() const {
    return {
        .out_bytes = bytes(), .in_bytes = all_bytes(), .in_place = in_place_at(place_of(rank()))};
  }
  std::unique_ptr<Contents> contents() const {
    return blocks(context(), bytes(), from_all([&](int sender) { return block_of(sender); }));
  }
};

// A block of every rank for every rank.
class AllToAll : public Operation {
 public:
  using Operation::Operation;
  Places places() const {
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

// Ranks in a ring that is closed, each with one neighbour on either side: the one before, then the
// one behind, as MPI_Cart_create has them (MPI 4, section 8.6).
class InRing : public Operation {
 public:
  // Collective.
  explicit InRing(const CaseContext& context) : Operation(context) {
    MPI_Comm made = MPI_COMM_NULL;
    const int size = ranks();
    const int closed = 1;
    MPI_Cart_create(Operation::comm(), 1, &size, &closed, 0, &made);
    comm_ = std::shared_ptr<MPI_Comm>(new MPI_Comm(made), [](MPI_Comm* comm) {
      MPI_Comm_free(comm);
      delete comm;
    });
  }
  MPI_Comm comm() const { return *comm_; }

 protected:
  static constexpr int kNeighbours = 2;
  int before() const { return (rank() + ranks() - 1) % ranks(); }
  int behind() const { return (rank() + 1) % ranks(); }

 private:
  std::shared_ptr<MPI_Comm> comm_;
};

// A rank's block, to both neighbours.
class ToNeighbours : public InRing {
 public:
  using InRing::InRing;
  Places places() const { return {.out_bytes = bytes(), .in_bytes = kNeighbours * bytes()}; }
  std::unique_ptr<Contents> contents() const {
    return blocks(context(), bytes(), {block_of(before()), block_of(behind())});
  }
};

// A block for each neighbour. Of two ranks each is the other's neighbour on both sides: what one
// sends back comes from ahead (MPI 4, section 8.6), or, as MPI 3 can be read and Intel MPI 2021.19
// reads it, the first block sent is the first received.
class NeighbourToNeighbour : public InRing {
 public:
  using InRing::InRing;
  Places places() const {
    return {.out_bytes = kNeighbours * bytes(), .in_bytes = kNeighbours * bytes()};
  }
  std::unique_ptr<Contents> contents() const {
    std::vector<Block> in_order;
    if (before() == behind()) in_order = {half(before(), 0), half(behind(), 1)};
    return blocks(context(), kNeighbours * bytes(), {half(before(), 1), half(behind(), 0)},
                  std::move(in_order));
  }

 private:
  Block half(int sender, std::size_t index) const {
    return {
        .rank = sender, .whole = kNeighbours * bytes(), .from = index * bytes(), .bytes = bytes()};
  }
};

// Sums of numbers: of as many as each rank has, to every rank.
class Reduction : public Operation {
 public:
  explicit Reduction(const CaseContext& context) : Operation(context), elements_(context) {}
  Places places() const {
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

}  // namespace nearpeak
