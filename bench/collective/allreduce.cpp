// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Allreduce final : public Reduction {
 public:
  using Reduction::Reduction;
  std::unique_ptr<Contents> contents() const { return all_sums(true, ranks()); }

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, out, in, numbers(), elements().mpi,
          MPI_SUM);
  }
};

const Register allreduce_entry(collective<Allreduce>(
    {.name = "allreduce",
     .summary = "time until every rank has the sums of what all ranks have: MPI_Allreduce",
     .smallest = 4,
     .traffic = Traffic{.once = 2, .by_ranks = -2},
     .least = Traffic{.once = 1},
     .usual = true},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
