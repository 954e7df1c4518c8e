// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class ReduceScatter final : public Reduction {
 public:
  explicit ReduceScatter(const CaseContext& context) : Reduction(context) {
    for (int each = 0; each < ranks(); ++each)
      counts_.push_back(static_cast<int>(begin_of(each + 1) - begin_of(each)));
  }
  CollectiveBuffers buffers() const {
    return {.out_bytes = bytes(),
            .in_bytes = count_of(rank()) * elements().type.bytes,
            .in_place = in_place_at(0),
            .overwritten = true};
  }
  std::unique_ptr<Contents> contents() const {
    return sums(context(), elements().type,
                {.count = elements().count,
                 .first = begin_of(rank()),
                 .received = count_of(rank()),
                 .ranks = ranks()});
  }

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, out, in, counts_.data(),
          elements().mpi, MPI_SUM);
  }

 private:
  // Parts differ by one number at most.
  std::size_t begin_of(int each) const {
    return elements().count * static_cast<std::size_t>(each) / static_cast<std::size_t>(ranks());
  }
  std::size_t count_of(int each) const { return begin_of(each + 1) - begin_of(each); }

  std::vector<int> counts_;
};

const Register reduce_scatter_entry(
    collective<ReduceScatter>({.name = "reduce_scatter",
                               .summary = "time until every rank has its part of the sums of what "
                                          "all ranks have: MPI_Reduce_scatter",
                               .smallest = 4,
                               .traffic = Traffic{.once = 1, .by_ranks = -1}},
                              {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak
