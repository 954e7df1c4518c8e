// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Gather final : public ToRoot {
 public:
  using ToRoot::ToRoot;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Gather, MPI_Igather, MPI_Gather_init, out, count(), MPI_BYTE, in, count(), MPI_BYTE,
          kLeaderRank);
  }
};

const Register gather_entry(
    collective<Gather>({.name = "gather",
                        .summary = "time until rank 0 has a block of every rank: MPI_Gather",
                        .smallest = 1,
                        .traffic = Traffic{.once = -1, .times_ranks = 1},
                        .least = Traffic{.once = 1},
                        .covered_by = {"allgather"}},
                       {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
