// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Gatherv final : public Counted<ToRoot> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, out, count(), MPI_BYTE, in, counts(),
          displacements(), MPI_BYTE, kLeaderRank);
  }
};

const Register gatherv_entry(
    collective<Gatherv>({.name = "gatherv",
                         .summary = "gather with a count for each rank, equal ones: MPI_Gatherv",
                         .smallest = 1,
                         .traffic = Traffic{.once = -1, .times_ranks = 1},
                         .least = Traffic{.once = 1}},
                        {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
