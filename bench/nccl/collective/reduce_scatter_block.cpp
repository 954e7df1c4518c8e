// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class ReduceScatterBlock final : public SummingBlocks<Elements> {
 public:
  using SummingBlocks::SummingBlocks;

  void call(const Communicator& comm, void* out, void* in) const {
    comm.call("ncclReduceScatter", comm.api().ncclReduceScatter, out, in, elements().count,
              elements().nccl, kSum);
  }
};

const Register reduce_scatter_block_entry(collective<ReduceScatterBlock>(
    {.name = "reduce_scatter_block",
     .summary = "time until every rank has the sums of its block, of which each rank has one for "
                "every rank: ncclReduceScatter",
     .smallest = 4,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {type_axis()}, Symmetric::kYes));

}  // namespace
}  // namespace nearpeak::nccl
