// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Reduce final : public Reduction {
 public:
  using Reduction::Reduction;
  CollectiveBuffers buffers() const {
    return {.out_bytes = bytes(),
            .in_bytes = is_root() ? bytes() : 0,
            .in_place = is_root() ? in_place_at(0) : std::nullopt,
            .overwritten = true};
  }
  std::unique_ptr<Contents> contents() const { return all_sums(is_root(), ranks()); }

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, out, in, numbers(), elements().mpi, MPI_SUM,
          kLeaderRank);
  }
};

const Register reduce_entry(collective<Reduce>(
    {.name = "reduce",
     .summary = "time until rank 0 has the sums of what all ranks have: MPI_Reduce",
     .smallest = 4,
     .traffic = Traffic{.once = 1},
     .covered_by = {"allreduce"}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
