// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Scatterv final : public FromRoot {
 public:
  explicit Scatterv(const CaseContext& context) : FromRoot(context), counts_(bytes(), ranks()) {}

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, out, counts_.counts.data(),
          counts_.displacements.data(), MPI_BYTE, receives() ? in : MPI_IN_PLACE, count(), MPI_BYTE,
          kLeaderRank);
  }

 private:
  const Counts counts_;
};

const Register scatterv_entry(
    collective<Scatterv>({.name = "scatterv",
                          .summary = "scatter with a count for each rank, equal ones: MPI_Scatterv",
                          .smallest = 1,
                          .traffic = Traffic{.once = -1, .times_ranks = 1},
                          .least = Traffic{.once = 1}},
                         {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
