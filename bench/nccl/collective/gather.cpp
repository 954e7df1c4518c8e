// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Gather final : public ToRoot {
 public:
  using ToRoot::ToRoot;

  void call(const Communicator& comm, void* out, void* in) const {
    const bool in_place = is_root() && is_in_place(context());
    comm.begin_group();
    if (!in_place) send(comm, out, bytes(), kLeaderRank);
    for (int peer = 0; is_root() && peer < ranks(); ++peer)
      if (!in_place || peer != rank()) receive(comm, at(in, place_of(peer)), bytes(), peer);
    comm.end_group();
  }
};

const Register gather_entry(collective<Gather>(
    {.name = "gather",
     .summary = "time until rank 0 has a block of every rank: a group of ncclSend and ncclRecv",
     .smallest = 1,
     .traffic = Traffic{.once = -1, .times_ranks = 1},
     .least = Traffic{.once = 1}},
    {in_place_axis()}));

}  // namespace
}  // namespace nearpeak::nccl
