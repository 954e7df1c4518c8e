// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Gatherv final : public ToRoot {
 public:
  explicit Gatherv(const CaseContext& context) : ToRoot(context), counts_(bytes(), ranks()) {}

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init, out, count(), MPI_BYTE, in,
          counts_.counts.data(), counts_.displacements.data(), MPI_BYTE, kLeaderRank);
  }

 private:
  const Counts counts_;
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
