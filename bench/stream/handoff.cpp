// SPDX-License-Identifier: Apache-2.0
// A halo between two kernels, as a program with MPI exchanges it: it waits for the stream, calls
// MPI, and launches the next kernel.
#include "benchmark/calls.hpp"
#include "mpi/mpi_group.hpp"
#include "stream/chain.hpp"

namespace nearpeak {
namespace {

class Handoff final : public ChainCase {
 public:
  explicit Handoff(const CaseContext& context)
      : ChainCase(context, nullptr, halo_of(context.group.rank(), context.bytes),
                  halo_of(1 - context.group.rank(), context.bytes)),
        comm_(comm_of(context.group)),
        peer_(1 - context.group.rank()),
        count_(static_cast<int>(context.bytes)) {}

 private:
  void message() override {
    constexpr int kTag = 6;
    stream().synchronize();
    MPI_Sendrecv(out(), count_, MPI_BYTE, peer_, kTag, in(), count_, MPI_BYTE, peer_, kTag, comm_,
                 MPI_STATUS_IGNORE);
  }

  const MPI_Comm comm_;
  const int peer_;
  const int count_;
};

const Register entry(handoff(
    {.name = "handoff",
     .summary = "time without a kernel, by the clock of the device, between two that a halo each "
                "way lies between: wait for the stream, MPI_Sendrecv, launch",
     .smallest = 1,
     .moves = {.ways = 2}},
    {{kCalls, {kBlocking}, "the program waits for the stream before each message"}},
    [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<Handoff>(context);
    }));

}  // namespace
}  // namespace nearpeak
