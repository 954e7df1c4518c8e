// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class ReduceScatterBlock final : public Reduction {
 public:
  using Reduction::Reduction;
  CollectiveBuffers buffers() const {
    return {.out_bytes = all_bytes(),
            .in_bytes = bytes(),
            .in_place = in_place_at(0),
            .overwritten = true};
  }
  std::unique_ptr<Contents> contents() const {
    return sums(context(), elements().type,
                {.count = elements().count * static_cast<std::size_t>(ranks()),
                 .first = elements().count * static_cast<std::size_t>(rank()),
                 .received = elements().count,
                 .ranks = ranks()});
  }

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
