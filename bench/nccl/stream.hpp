// SPDX-License-Identifier: Apache-2.0
// Chains of kernels (stream/chain.hpp) with messages of NCCL, which need not be waited for: they
// are in the stream of the kernels, or with these in a graph.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nccl/collective.hpp"
#include "stream/chain.hpp"

namespace nearpeak::nccl {

class NcclChain : public ChainCase {
 public:
  NcclChain(const CaseContext& context, HandedOver sent, HandedOver received)
      : ChainCase(context, &communicator_of(context.group).stream(), std::move(sent),
                  std::move(received)),
        comm_(communicator_of(context.group)),
        group_(context.group),
        way_(context.axis(kCalls)) {}

 protected:
  const Communicator& comm() const { return comm_; }
  virtual void call() = 0;

 private:
  void message() final {
    if (way_ == kBlocking) comm_.synchronize();
    call();
    if (way_ == kBlocking) comm_.synchronize();
  }
  void chain() final {
    if (way_ != kGraph) {
      give();
    } else {
      if (!graph_) record();
      comm_.launch(*graph_, "a graph of kernels and NCCL's calls");
    }
    comm_.synchronize();
  }
  // At the first use, as NCCL connects ranks before.
  void record() {
    check_recordable(comm_.api());
    call();
    comm_.synchronize();
    on_every_rank(group_, [&] { graph_ = comm_.record_graph([&] { give(); }); });
  }

  const Communicator& comm_;
  Group& group_;
  const std::string way_;
  std::shared_ptr<RecordedGraph> graph_;
};

inline std::vector<Axis> chain_axes(Symmetric symmetric) {
  Axis registered = register_axis(symmetric);
  registered.usual.clear();
  return {{.name = kCalls,
           .values = {kBlocking, kEnqueued, kGraph},
           .summary = "blocking: the program waits for the stream before and behind each message; "
                      "enqueued: kernels and messages are in one stream; graph: in one graph",
           .usual = {kBlocking, kEnqueued, kGraph}},
          std::move(registered)};
}

}  // namespace nearpeak::nccl
