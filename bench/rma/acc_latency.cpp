// SPDX-License-Identifier: Apache-2.0
#include "rma/atomic.hpp"

namespace nearpeak {
namespace {

class Accumulate final : public Adding {
 public:
  using Adding::Adding;
  static constexpr bool kFetches = false;

  void call(const AtomicEnds& at, std::uint64_t) const {
    MPI_Accumulate(at.operands, count(), atoms().mpi, at.peer, at.place, count(), atoms().mpi,
                   MPI_SUM, at.window);
  }
};

const Register acc_latency_entry(atomic<Accumulate>(
    {.name = "acc_latency",
     .summary = "time of one MPI_Accumulate of rank 0 into rank 1's numbers, with its "
                "synchronisation",
     .smallest = 4},
    {type_axis()}));

}  // namespace
}  // namespace nearpeak
