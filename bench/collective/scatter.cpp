// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Scatter final : public FromRoot {
 public:
  using FromRoot::FromRoot;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Scatter, MPI_Iscatter, MPI_Scatter_init, out, count(), MPI_BYTE,
          receives() ? in : MPI_IN_PLACE, count(), MPI_BYTE, kLeaderRank);
  }
};

const Register scatter_entry(
    collective<Scatter>({.name = "scatter",
                         .summary = "time until every rank has a block of rank 0: MPI_Scatter",
                         .smallest = 1,
                         .traffic = Traffic{.once = -1, .times_ranks = 1},
                         .least = Traffic{.once = 1},
                         .covered_by = {"alltoall"}},
                        {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
