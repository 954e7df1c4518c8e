// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Bcast final : public ToOthers {
 public:
  using ToOthers::ToOthers;

  void call(const Communicator& comm, void* out, void* in) const {
    void* const buffer = is_root() ? out : in;
    comm.call("ncclBroadcast", comm.api().ncclBroadcast, buffer, buffer, bytes(), kInt8,
              kLeaderRank);
  }
};

const Register bcast_entry(
    collective<Bcast>({.name = "bcast",
                       .summary = "time until every rank has what rank 0 has: ncclBroadcast, in "
                                  "place on rank 0 as MPI_Bcast is",
                       .smallest = 1,
                       .traffic = Traffic{.once = 1}}));

}  // namespace
}  // namespace nearpeak::nccl
