// SPDX-License-Identifier: Apache-2.0
// Which block goes where in operations of MPI: layout.hpp, and what MPI alone has.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "collective/collective.hpp"
#include "mpi/elements.hpp"

namespace nearpeak {

using Reduction = Summing<Elements>;

// A shape whose calls take a count for each rank, or neighbour: equal ones, as in OMB and IMB.
template <class Shape>
class Counted : public Shape {
 public:
  // Throws Unfit where the displacements are no int.
  explicit Counted(const CaseContext& context)
      : Shape(context),
        counts_(static_cast<std::size_t>(this->partners()), this->count()),
        types_(counts_.size(), MPI_BYTE) {
    if (this->bytes() * counts_.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Unfit("the blocks of " + std::to_string(counts_.size()) +
                  " ranks are more bytes than an int counts: choose smaller sizes");
    for (int each = 0; each < this->partners(); ++each) {
      displacements_.push_back(each * this->count());
      addresses_.push_back(displacements_.back());
    }
  }

 protected:
  const int* counts() const { return counts_.data(); }
  const int* displacements() const { return displacements_.data(); }
  const MPI_Aint* addresses() const { return addresses_.data(); }
  const MPI_Datatype* types() const { return types_.data(); }

 private:
  std::vector<int> counts_;
  std::vector<int> displacements_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

// Ranks in a ring that is closed, each with one neighbour on either side: the one before, then the
// one behind, as MPI_Cart_create has them (MPI 4, section 8.6).
class InRing : public CollectiveOperation {
 public:
  // Collective.
  explicit InRing(const CaseContext& context) : CollectiveOperation(context) {
    MPI_Comm made = MPI_COMM_NULL;
    const int size = ranks();
    const int closed = 1;
    MPI_Cart_create(comm_of(group()), 1, &size, &closed, 0, &made);
    comm_ = std::shared_ptr<MPI_Comm>(new MPI_Comm(made), [](MPI_Comm* comm) {
      MPI_Comm_free(comm);
      delete comm;
    });
  }
  MPI_Comm comm() const { return *comm_; }

 protected:
  static constexpr int kNeighbours = 2;
  int partners() const { return kNeighbours; }
  int before() const { return (rank() + ranks() - 1) % ranks(); }
  int behind() const { return (rank() + 1) % ranks(); }

 private:
  std::shared_ptr<MPI_Comm> comm_;
};
inline MPI_Comm comm_of(const InRing& ring) { return ring.comm(); }

// A rank's block, to both neighbours.
class ToNeighbours : public InRing {
 public:
  using InRing::InRing;
  CollectiveBuffers buffers() const {
    return {.out_bytes = bytes(), .in_bytes = kNeighbours * bytes()};
  }
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
  CollectiveBuffers buffers() const {
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

}  // namespace nearpeak
