// SPDX-License-Identifier: Apache-2.0
#include "rma/atomic.hpp"

namespace nearpeak {
namespace {

class GetAccumulate final : public Adding {
 public:
  using Adding::Adding;
  static constexpr bool kFetches = true;

  void call(const AtomicEnds& at, std::uint64_t) const {
    MPI_Get_accumulate(at.operands, count(), atoms().mpi, at.result, count(), atoms().mpi, at.peer,
                       at.place, count(), atoms().mpi, MPI_SUM, at.window);
  }
};

const Register get_acc_latency_entry(atomic<GetAccumulate>(
    {.name = "get_acc_latency",
     .summary = "time of one MPI_Get_accumulate of rank 0 on rank 1's numbers, with its "
                "synchronisation",
     .smallest = 4},
    {type_axis()}));

}  // namespace
}  // namespace nearpeak
