// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Alltoallw final : public Counted<AllToAll> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, out, counts(), displacements(),
          types(), in, counts(), displacements(), types());
  }
};

const Register alltoallw_entry(collective<Alltoallw>(
    {.name = "alltoallw",
     .summary = "alltoall with a count and a datatype for each rank, equal ones: MPI_Alltoallw",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
