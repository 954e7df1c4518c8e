// SPDX-License-Identifier: Apache-2.0
#include "nccl/stream.hpp"

namespace nearpeak::nccl {
namespace {

class Handoff final : public NcclChain {
 public:
  explicit Handoff(const CaseContext& context)
      : NcclChain(context, halo_of(context.group.rank(), context.bytes),
                  halo_of(1 - context.group.rank(), context.bytes)),
        bytes_(context.bytes),
        peer_(1 - context.group.rank()) {}

 private:
  void call() override {
    comm().begin_group();
    send(comm(), out(), bytes_, peer_);
    receive(comm(), in(), bytes_, peer_);
    comm().end_group();
  }

  const std::size_t bytes_;
  const int peer_;
};

const Register handoff_entry(
    handoff({.name = "handoff",
             .summary = "time without a kernel of the program, by the clock of the device, between "
                        "two that a halo each way lies between: ncclSend and ncclRecv in a group",
             .smallest = 1,
             .moves = {.ways = 2}},
            chain_axes(Symmetric::kNo), [](const CaseContext& context) -> std::unique_ptr<Case> {
              return std::make_unique<Handoff>(context);
            }));

}  // namespace
}  // namespace nearpeak::nccl
