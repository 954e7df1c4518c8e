// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Alltoallv final : public AllToAll {
 public:
  explicit Alltoallv(const CaseContext& context) : AllToAll(context), counts_(bytes(), ranks()) {}

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, out, counts_.counts.data(),
          counts_.displacements.data(), MPI_BYTE, in, counts_.counts.data(),
          counts_.displacements.data(), MPI_BYTE);
  }

 private:
  const Counts counts_;
};

const Register alltoallv_entry(collective<Alltoallv>(
    {.name = "alltoallv",
     .summary = "alltoall with a count for each rank, equal ones: MPI_Alltoallv",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak
