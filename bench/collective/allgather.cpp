// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Allgather final : public ToAll {
 public:
  using ToAll::ToAll;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, out, count(), MPI_BYTE, in, count(),
          MPI_BYTE);
  }
};

const Register allgather_entry(collective<Allgather>(
    {.name = "allgather",
     .summary = "time until every rank has a block of every rank: MPI_Allgather",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1},
     .covered_by = {"alltoall"}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
