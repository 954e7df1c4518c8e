// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Allgatherv final : public Counted<ToAll> {
 public:
  using Counted::Counted;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, out, count(), MPI_BYTE, in,
          counts(), displacements(), MPI_BYTE);
  }
};

const Register allgatherv_entry(collective<Allgatherv>(
    {.name = "allgatherv",
     .summary = "allgather with a count for each rank, equal ones: MPI_Allgatherv",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
