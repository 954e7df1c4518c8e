// SPDX-License-Identifier: Apache-2.0
#include "nccl/collective.hpp"

namespace nearpeak::nccl {
namespace {

class Allreduce final : public Reduction {
 public:
  using Reduction::Reduction;
  std::unique_ptr<Contents> contents() const { return all_sums(true, ranks()); }

  void call(const Communicator& comm, void* out, void* in) const {
    comm.call("ncclAllReduce", comm.api().ncclAllReduce, out, in, elements().count, elements().nccl,
              kSum);
  }
};

const Register allreduce_entry(collective<Allreduce>(
    {.name = "allreduce",
     .summary = "time until every rank has the sums of what all ranks have: ncclAllReduce",
     .smallest = 4,
     .traffic = Traffic{.once = 2, .by_ranks = -2},
     .least = Traffic{.once = 1}},
    {type_axis(), in_place_axis()}, Symmetric::kYes));

}  // namespace
}  // namespace nearpeak::nccl
