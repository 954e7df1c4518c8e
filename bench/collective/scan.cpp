// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Scan final : public Reduction {
 public:
  using Reduction::Reduction;
  Places places() const {
    return {
        .out_bytes = bytes(), .in_bytes = bytes(), .in_place = in_place_at(0), .overwritten = true};
  }
  std::unique_ptr<Contents> contents() const {
    return sums(
        context(), elements().type,
        {.count = elements().count, .first = 0, .received = elements().count, .ranks = rank() + 1});
  }

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Scan, MPI_Iscan, MPI_Scan_init, out, in, numbers(), elements().mpi, MPI_SUM);
  }
};

const Register entry(collective<Scan>(
    {.name = "scan",
     .summary =
         "time until every rank has the sums of what it and the ranks below it have: MPI_Scan",
     .smallest = 4,
     .traffic = Traffic{.once = 1}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
