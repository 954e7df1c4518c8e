// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Bcast final : public ToOthers {
 public:
  using ToOthers::ToOthers;

  template <class Calls>
  void call(Calls& calls, void* out, void* in) const {
    calls(MPI_Bcast, MPI_Ibcast, MPI_Bcast_init, is_root() ? out : in, count(), MPI_BYTE,
          kLeaderRank);
  }
};

const Register bcast_entry(
    collective<Bcast>({.name = "bcast",
                       .summary = "time until every rank has what rank 0 has: MPI_Bcast",
                       .smallest = 1,
                       .traffic = Traffic{.once = 1},
                       .covered_by = {"allreduce"},
                       .usual = true}));

}  // namespace
}  // namespace nearpeak
