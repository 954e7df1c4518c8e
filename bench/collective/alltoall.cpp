// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Alltoall final : public AllToAll {
 public:
  using AllToAll::AllToAll;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, out, count(), MPI_BYTE, in, count(),
          MPI_BYTE);
  }
};

const Register alltoall_entry(collective<Alltoall>(
    {.name = "alltoall",
     .summary =
         "time until every rank has a block from every rank that is for it alone: MPI_Alltoall",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1},
     .usual = true},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
