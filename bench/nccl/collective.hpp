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
#include "transport/nccl/memory.hpp"

namespace nearpeak::nccl {

// Values of the axis kCalls, beside kBlocking.
inline constexpr const char* kEnqueued = "enqueued";
inline constexpr const char* kGrouped = "grouped";
inline constexpr const char* kGraph = "graph";
constexpr std::uint64_t kInARow = 20;  // operations of these: as nccl-tests has them without -n

// Throws Unfit where a graph cannot have its calls.
void check_recordable(const Api& api);

template <class Operation>
class NcclCollective final : public CollectiveCase {
 public:
  NcclCollective(const CaseContext& context, Operation operation)
      : CollectiveCase(context, operation.buffers(), operation.contents()),
        operation_(std::move(operation)),
        comm_(communicator_of(context.group)),
        group_(context.group),
        way_(context.axis(kCalls)),
        operations_(way_ == kBlocking ? 1 : kInARow),
        repeatable_(slots() == 1 && !is_in_place(context)) {
    if (way_ == kGrouped && is_in_place(context))
      throw Unfit("operations of a group run at the same time, and in place they have one buffer");
    if (way_ == kGraph) record();
  }

  std::uint64_t operations() const override { return operations_; }
  void run(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) batch(operations_);
  }
  void first_use() override { batch(1); }
  // What is timed is what is verified.
  void run_round(std::uint64_t) override { batch(repeatable_ ? operations_ : 1); }

 private:
  // The operations are called once before: NCCL connects ranks then, which a recording must not
  // have in it.
  void record() {
    check_recordable(comm_.api());
    if (slots() > kInARow)
      throw Unfit("a graph has " + std::to_string(kInARow) + " calls, and these are " +
                  std::to_string(slots()) + " buffers: give another --reuse");
    call(0);
    comm_.synchronize();
    on_every_rank(group_, [&] {
      single_ = graph_of(1);
      whole_ = graph_of(operations_);
    });
  }
  std::shared_ptr<RecordedGraph> graph_of(std::uint64_t operations) {
    return comm_.record_graph([&] { call_each(operations); });
  }

  void batch(std::uint64_t operations) {
    if (way_ == kGraph) {
      comm_.launch(operations == 1 ? *single_ : *whole_, "a graph of NCCL's calls");
      use_first(operations);
    } else {
      if (way_ == kGrouped) comm_.begin_group();
      call_each(operations);
      if (way_ == kGrouped) comm_.end_group();
    }
    comm_.synchronize();
  }
  void call_each(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) call(way_ == kGraph ? i % slots() : next_slot());
  }
  void call(std::size_t slot) const {
    void* const to = in(slot);
    operation_.call(comm_, in_place() ? static_cast<char*>(to) + *in_place() : out(slot), to);
  }

  const Operation operation_;
  const Communicator& comm_;
  Group& group_;
  const std::string way_;
  const std::uint64_t operations_;         // of an iteration
  const bool repeatable_;                  // one after the other they leave what one of them does
  std::shared_ptr<RecordedGraph> single_;  // of one operation, and
  std::shared_ptr<RecordedGraph> whole_;   // of an iteration
};

Axis calls_axis();

// Of buffers of operations that NCCL has kernels of symmetric windows for, or has not.
enum class Symmetric { kNo, kYes };
Axis register_axis(Symmetric symmetric);

template <class Operation>
Benchmark collective(BenchmarkInfo info, std::vector<Axis> axes = {},
                     Symmetric symmetric = Symmetric::kNo) {
  axes.insert(axes.begin(), calls_axis());
  axes.push_back(register_axis(symmetric));
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
