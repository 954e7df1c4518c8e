// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Scatter final : public FromRoot {
 public:
  using FromRoot::FromRoot;

  void call(const Communicator& comm, void* out, void* in) const {
    comm.begin_group();
    for (int peer = 0; is_root() && peer < ranks(); ++peer)
      if (receives() || peer != rank()) send(comm, at(out, place_of(peer)), bytes(), peer);
    if (receives()) receive(comm, in, bytes(), kLeaderRank);
    comm.end_group();
  }
};

const Register scatter_entry(collective<Scatter>(
    {.name = "scatter",
     .summary = "time until every rank has a block of rank 0: a group of ncclSend and ncclRecv",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1},
     .least = Traffic{.once = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak::nccl
