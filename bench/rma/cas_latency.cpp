// SPDX-License-Identifier: Apache-2.0
// The target goes from one number of a row to the next. In rounds of odd numbers, which are not
// timed, what it is compared with is never there, and it must stay as it is.
#include "rma/atomic.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kRow = 64;

std::uint64_t number(std::uint64_t index, std::uint64_t round) {
  return 1 + round * 2 * kRow + index % kRow;
}

class CompareAndSwap final {
 public:
  explicit CompareAndSwap(const CaseContext&) {}
  static constexpr bool kFetches = true;

  const Atoms& atoms() const {
    static const Atoms atoms{
        .type = &long_type(),
        .mpi = MPI_INT64_T,
        .count = 1,
        .operands = kRow,
        .operand =
            [](std::size_t row, std::size_t, std::uint64_t round) {
              return number(row, round) + (round % 2 == 1 ? kRow : 0);
            },
        .held = [](std::uint64_t done, std::size_t,
                   std::uint64_t round) { return number(round % 2 == 1 ? 0 : done, round); }};
    return atoms;
  }

  void call(const AtomicEnds& at, std::uint64_t before) const {
    const std::size_t bytes = long_type().bytes;
    MPI_Compare_and_swap(at.operands + (before + 1) % kRow * bytes,
                         at.operands + before % kRow * bytes, at.result, atoms().mpi, at.peer,
                         at.place, at.window);
  }
};

const Register cas_latency_entry(atomic<CompareAndSwap>(
    {.name = "cas_latency",
     .summary = "time of one MPI_Compare_and_swap of rank 0 on rank 1's 8 bytes, with its "
                "synchronisation",
     .sized = false}));

}  // namespace
}  // namespace nearpeak
