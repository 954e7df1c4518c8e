// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class NeighborAlltoallw final : public Counted<NeighbourToNeighbour> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPI_Neighbor_alltoallw_init, out,
          counts(), addresses(), types(), in, counts(), addresses(), types());
  }
};

const Register neighbor_alltoallw_entry(
    collective<NeighborAlltoallw>({.name = "neighbor_alltoallw",
                                   .summary = "neighbor_alltoall with a count and a datatype for "
                                              "each neighbour, equal ones: MPI_Neighbor_alltoallw",
                                   .smallest = 1,
                                   .traffic = Traffic{.once = 2}}));

}  // namespace
}  // namespace nearpeak
