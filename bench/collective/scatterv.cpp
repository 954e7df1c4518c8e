// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Scatterv final : public Counted<FromRoot> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, out, counts(), displacements(), MPI_BYTE,
          receives() ? in : MPI_IN_PLACE, count(), MPI_BYTE, kLeaderRank);
  }
};

const Register scatterv_entry(
    collective<Scatterv>({.name = "scatterv",
                          .summary = "scatter with a count for each rank, equal ones: MPI_Scatterv",
                          .smallest = 1,
                          .traffic = Traffic{.once = -1, .times_ranks = 1},
                          .least = Traffic{.once = 1}},
                         {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
