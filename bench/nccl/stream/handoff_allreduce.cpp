// SPDX-License-Identifier: Apache-2.0
#include "nccl/stream.hpp"

namespace nearpeak::nccl {
namespace {

class HandoffAllreduce final : public NcclChain {
 public:
  explicit HandoffAllreduce(const CaseContext& context)
      : NcclChain(context, doubles_of(context.group.rank(), context.bytes),
                  sums_of_doubles(context.group.size(), context.bytes)),
        count_(context.bytes / sizeof(double)) {}

 private:
  void call() override {
    comm().call("ncclAllReduce", comm().api().ncclAllReduce, out(), in(), count_, kFloat64, kSum);
  }

  const std::size_t count_;
};

const Register handoff_allreduce_entry(
    handoff({.name = "handoff_allreduce",
             .summary = "time without a kernel of the program, by the clock of the device, between "
                        "two that sums of all ranks lie between: ncclAllReduce",
             .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 2},
             .smallest = sizeof(double)},
            chain_axes(Symmetric::kYes), [](const CaseContext& context) -> std::unique_ptr<Case> {
              return std::make_unique<HandoffAllreduce>(context);
            }));

}  // namespace
}  // namespace nearpeak::nccl
