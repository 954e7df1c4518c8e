// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class NeighborAllgather final : public ToNeighbours {
 public:
  using ToNeighbours::ToNeighbours;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPI_Neighbor_allgather_init, out,
          count(), MPI_BYTE, in, count(), MPI_BYTE);
  }
};

const Register neighbor_allgather_entry(collective<NeighborAllgather>(
    {.name = "neighbor_allgather",
     .summary =
         "time until every rank of a ring has a block of both neighbours: MPI_Neighbor_allgather",
     .smallest = 1,
     .traffic = Traffic{.once = 2},
     .least = Traffic{.once = 1}}));

}  // namespace
}  // namespace nearpeak
