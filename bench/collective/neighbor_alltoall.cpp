// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class NeighborAlltoall final : public NeighbourToNeighbour {
 public:
  using NeighbourToNeighbour::NeighbourToNeighbour;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init, out, count(),
          MPI_BYTE, in, count(), MPI_BYTE);
  }
};

const Register neighbor_alltoall_entry(collective<NeighborAlltoall>(
    {.name = "neighbor_alltoall",
     .summary = "time until every rank of a ring has a block from both neighbours that is for it "
                "alone: MPI_Neighbor_alltoall",
     .smallest = 1,
     .traffic = Traffic{.once = 2}}));

}  // namespace
}  // namespace nearpeak
