// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Exscan final : public Reduction {
 public:
  using Reduction::Reduction;
  // Rank 0 has a receive buffer too, in which nothing is defined.
  std::unique_ptr<Contents> contents() const { return all_sums(rank() > 0, rank()); }

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, out, in, numbers(), elements().mpi, MPI_SUM);
  }
};

const Register exscan_entry(collective<Exscan>(
    {.name = "exscan",
     .summary = "time until every rank has the sums of what the ranks below it have: MPI_Exscan",
     .smallest = 4,
     .traffic = Traffic{.once = 1}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
