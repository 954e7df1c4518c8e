// SPDX-License-Identifier: Apache-2.0
// What all collective operations of NCCL have in common. An operation is a class of a few lines, as
// those of MPI (collective/collective.hpp), with
//   void call(const Communicator& comm, void* out, void* in) const
// whose buffers are null where they have no bytes; where the rank sends in place, `out` lies in
// `in`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "benchmark/addends.hpp"
#include "benchmark/calls.hpp"
#include "collective/layout.hpp"
#include "transport/nccl/communicator.hpp"

namespace nearpeak::nccl {

template <class Operation>
class NcclCollective final : public CollectiveCase {
 public:
  NcclCollective(const CaseContext& context, Operation operation)
      : CollectiveCase(context, operation.buffers(), operation.contents()),
        operation_(std::move(operation)),
        comm_(communicator_of(context.group)),
        operations_(context.axis(kCalls) == "enqueued" ? kEnqueued : 1) {}

  std::uint64_t operations() const override { return operations_; }
  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) batch(operations_);
  }
  void first_use() override { batch(1); }
  void run_round(std::uint64_t) override { batch(1); }

 private:
  static constexpr std::uint64_t kEnqueued = 20;  // as nccl-tests has it without -n

  void batch(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) call(next_slot());
    comm_.synchronize();
  }
  void call(std::size_t slot) const {
    void* const to = in(slot);
    operation_.call(comm_, in_place() ? static_cast<char*>(to) + *in_place() : out(slot), to);
  }

  const Operation operation_;
  const Communicator& comm_;
  const std::uint64_t operations_;  // of an iteration
};

inline Axis calls_axis() {
  return {kCalls,
          {kBlocking, "enqueued"},
          "every operation waited for, as a blocking call of MPI is; 20 in the stream before it is "
          "waited for, as in nccl-tests, and the time of one"};
}

template <class Operation>
Benchmark collective(BenchmarkInfo info, std::vector<Axis> axes = {}) {
  axes.insert(axes.begin(), calls_axis());
  return collective_benchmark(
      std::move(info), std::move(axes), [](const CaseContext& context) -> std::unique_ptr<Case> {
        return std::make_unique<NcclCollective<Operation>>(context, Operation(context));
      });
}

// The numbers of a reduction with what NCCL calls their type. Throws Unfit where it lacks it.
struct Elements : Addends {
  explicit Elements(const CaseContext& context);
  DataType nccl;
};
using Reduction = Summing<Elements>;

Axis type_axis();

inline void* at(void* buffer, std::size_t offset) { return static_cast<char*>(buffer) + offset; }

// The parts of an operation that NCCL has no function for. All of them in one group.
inline void send(const Communicator& comm, const void* from, std::size_t bytes, int peer) {
  comm.call("ncclSend", comm.api().ncclSend, from, bytes, kInt8, peer);
}
inline void receive(const Communicator& comm, void* to, std::size_t bytes, int peer) {
  comm.call("ncclRecv", comm.api().ncclRecv, to, bytes, kInt8, peer);
}

}  // namespace nearpeak::nccl
