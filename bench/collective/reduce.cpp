// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Reduce final : public SummingToRoot<Elements> {
 public:
  using SummingToRoot::SummingToRoot;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, out, in, numbers(), elements().mpi, MPI_SUM,
          kLeaderRank);
  }
};

const Register reduce_entry(collective<Reduce>(
    {.name = "reduce",
     .summary = "time until rank 0 has the sums of what all ranks have: MPI_Reduce",
     .smallest = 4,
     .traffic = Traffic{.once = 1},
     .covered_by = {"allreduce"}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
