// SPDX-License-Identifier: Apache-2.0
#include "rma/atomic.hpp"

namespace nearpeak {
namespace {

class FetchAndAdd final : public Adding {
 public:
  explicit FetchAndAdd(const CaseContext&) : Adding(one_long()) {}
  static constexpr bool kFetches = true;

  void call(const AtomicEnds& at, std::uint64_t) const {
    MPI_Fetch_and_op(at.operands, at.result, atoms().mpi, at.peer, at.place, MPI_SUM, at.window);
  }
};

const Register fop_latency_entry(atomic<FetchAndAdd>(
    {.name = "fop_latency",
     .summary =
         "time of one MPI_Fetch_and_op (a sum of 8 bytes) of rank 0 on rank 1's number, with "
         "its synchronisation",
     .sized = false}));

}  // namespace
}  // namespace nearpeak
