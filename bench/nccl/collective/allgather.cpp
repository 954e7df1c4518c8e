// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Allgather final : public ToAll {
 public:
  using ToAll::ToAll;

  void call(const Communicator& comm, void* out, void* in) const {
    comm.call("ncclAllGather", comm.api().ncclAllGather, out, in, bytes(), kInt8);
  }
};

const Register allgather_entry(collective<Allgather>(
    {.name = "allgather",
     .summary = "time until every rank has a block of every rank: ncclAllGather",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1}},
    {in_place_axis()}, Symmetric::kYes));

}  // namespace
}  // namespace nearpeak::nccl
