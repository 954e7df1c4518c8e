// SPDX-License-Identifier: Apache-2.0
#include "collective/shapes.hpp"

namespace nearpeak {
namespace {

class Barrier final : public CollectiveOperation {
 public:
  using CollectiveOperation::CollectiveOperation;
  CollectiveBuffers buffers() const { return {}; }
  std::unique_ptr<Contents> contents() const { return blocks(context(), 0, {}); }

  template <class Calls>
  void call(Calls& calls, void*, void*) const {
    calls(MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init);
  }
};

const Register barrier_entry(
    collective<Barrier>({.name = "barrier",
                         .summary = "time until every rank knows that all have come: MPI_Barrier",
                         .sized = false,
                         .traffic = Traffic{},
                         .usual = true}));

}  // namespace
}  // namespace nearpeak
