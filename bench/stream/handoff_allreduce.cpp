// SPDX-License-Identifier: Apache-2.0
// Sums of doubles between two kernels, as a solver adds up its residue.
#include "benchmark/calls.hpp"
#include "mpi/mpi_group.hpp"
#include "stream/chain.hpp"

namespace nearpeak {
namespace {

class HandoffAllreduce final : public ChainCase {
 public:
  explicit HandoffAllreduce(const CaseContext& context)
      : ChainCase(context, nullptr, doubles_of(context.group.rank(), context.bytes),
                  sums_of_doubles(context.group.size(), context.bytes)),
        comm_(comm_of(context.group)),
        count_(static_cast<int>(context.bytes / sizeof(double))) {}

 private:
  void message() override {
    stream().synchronize();
    MPI_Allreduce(out(), in(), count_, MPI_DOUBLE, MPI_SUM, comm_);
  }

  const MPI_Comm comm_;
  const int count_;
};

const Register entry(handoff(
    {.name = "handoff_allreduce",
     .summary = "time without a kernel, by the clock of the device, between two that sums of all "
                "ranks lie between: wait for the stream, MPI_Allreduce, launch",
     .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 2},
     .smallest = sizeof(double)},
    {{kCalls, {kBlocking}, "the program waits for the stream before each operation"}},
    [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<HandoffAllreduce>(context);
    }));

}  // namespace
}  // namespace nearpeak
