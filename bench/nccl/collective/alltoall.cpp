// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Alltoall final : public AllToAll {
 public:
  using AllToAll::AllToAll;

  void call(const Communicator& comm, void* out, void* in) const {
    comm.begin_group();
    for (int peer = 0; peer < ranks(); ++peer) {
      send(comm, at(out, place_of(peer)), bytes(), peer);
      receive(comm, at(in, place_of(peer)), bytes(), peer);
    }
    comm.end_group();
  }
};

const Register alltoall_entry(
    collective<Alltoall>({.name = "alltoall",
                          .summary = "time until every rank has a block from every rank that is "
                                     "for it alone: a group of ncclSend and ncclRecv",
                          .smallest = 1,
                          .traffic = Traffic{.once = -1, .times_ranks = 1}}));

}  // namespace
}  // namespace nearpeak::nccl
