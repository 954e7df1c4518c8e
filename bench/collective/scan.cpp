// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Scan final : public Reduction {
 public:
  using Reduction::Reduction;
  std::unique_ptr<Contents> contents() const { return all_sums(true, rank() + 1); }

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Scan, MPI_Iscan, MPI_Scan_init, out, in, numbers(), elements().mpi, MPI_SUM);
  }
};

const Register scan_entry(collective<Scan>(
    {.name = "scan",
     .summary =
         "time until every rank has the sums of what it and the ranks below it have: MPI_Scan",
     .smallest = 4,
     .traffic = Traffic{.once = 1}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
