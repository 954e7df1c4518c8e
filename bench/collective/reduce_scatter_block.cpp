// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class ReduceScatterBlock final : public SummingBlocks<Elements> {
 public:
  using SummingBlocks::SummingBlocks;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_Reduce_scatter_block_init, out,
          in, numbers(), elements().mpi, MPI_SUM);
  }
};

const Register reduce_scatter_block_entry(collective<ReduceScatterBlock>(
    {.name = "reduce_scatter_block",
     .summary = "time until every rank has the sums of its block, of which each rank has one for "
                "every rank: MPI_Reduce_scatter_block",
     .smallest = 4,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
