// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Alltoallv final : public Counted<AllToAll> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, out, counts(), displacements(),
          MPI_BYTE, in, counts(), displacements(), MPI_BYTE);
  }
};

const Register alltoallv_entry(collective<Alltoallv>(
    {.name = "alltoallv",
     .summary = "alltoall with a count for each rank, equal ones: MPI_Alltoallv",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
