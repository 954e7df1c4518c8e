// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class NeighborAllgatherv final : public Counted<ToNeighbours> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPI_Neighbor_allgatherv_init, out,
          count(), MPI_BYTE, in, counts(), displacements(), MPI_BYTE);
  }
};

const Register neighbor_allgatherv_entry(collective<NeighborAllgatherv>(
    {.name = "neighbor_allgatherv",
     .summary =
         "neighbor_allgather with a count for each neighbour, equal ones: MPI_Neighbor_allgatherv",
     .smallest = 1,
     .traffic = Traffic{.once = 2},
     .least = Traffic{.once = 1}}));

}  // namespace
}  // namespace nearpeak
