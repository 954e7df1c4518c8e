// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class NeighborAlltoallv final : public Counted<NeighbourToNeighbour> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPI_Neighbor_alltoallv_init, out,
          counts(), displacements(), MPI_BYTE, in, counts(), displacements(), MPI_BYTE);
  }
};

const Register neighbor_alltoallv_entry(collective<NeighborAlltoallv>(
    {.name = "neighbor_alltoallv",
     .summary =
         "neighbor_alltoall with a count for each neighbour, equal ones: MPI_Neighbor_alltoallv",
     .smallest = 1,
     .traffic = Traffic{.once = 2}}));

}  // namespace
}  // namespace nearpeak
