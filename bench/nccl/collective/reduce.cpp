// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Reduce final : public SummingToRoot<Elements> {
 public:
  using SummingToRoot::SummingToRoot;

  void call(const Communicator& comm, void* out, void* in) const {
    comm.call("ncclReduce", comm.api().ncclReduce, out, in, elements().count, elements().nccl, kSum,
              kLeaderRank);
  }
};

const Register reduce_entry(collective<Reduce>(
    {.name = "reduce",
     .summary = "time until rank 0 has the sums of what all ranks have: ncclReduce",
     .smallest = 4,
     .traffic = Traffic{.once = 1}},
    {type_axis(), in_place_axis()}));

}  // namespace
}  // namespace nearpeak::nccl
