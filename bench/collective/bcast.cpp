// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Bcast final : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const {
    return {.out_bytes = is_root() ? bytes() : 0, .in_bytes = is_root() ? 0 : bytes()};
  }
  std::unique_ptr<Contents> contents() const {
    if (is_root()) return blocks(context(), bytes(), {});
    return blocks(context(), 0, {block_of(kLeaderRank)});
  }

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
