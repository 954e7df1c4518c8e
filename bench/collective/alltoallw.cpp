// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Alltoallw final : public AllToAll {
 public:
  explicit Alltoallw(const CaseContext& context) : AllToAll(context), counts_(bytes(), ranks()) {}

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, out, counts_.counts.data(),
          counts_.displacements.data(), counts_.types.data(), in, counts_.counts.data(),
          counts_.displacements.data(), counts_.types.data());
  }

 private:
  const Counts counts_;
};

const Register alltoallw_entry(collective<Alltoallw>(
    {.name = "alltoallw",
     .summary = "alltoall with a count and a datatype for each rank, equal ones: MPI_Alltoallw",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
