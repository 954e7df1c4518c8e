// SPDX-License-Identifier: Apache-2.0
// Two ranks that send to each other at once, beside computation.
#include "benchmark/check_memory.hpp"
#include "mpi/mpi_group.hpp"
#include "mpi/pt2pt/lanes.hpp"
#include "overlap/overlap.hpp"
#include "pt2pt/pair_case.hpp"

namespace nearpeak {
namespace {

// A message each way, on its way.
class BothWays {
 public:
  BothWays(MPI_Comm comm, const Messages& messages, const Buffers& buffers)
      : comm_(comm),
        peer_(messages.peer),
        count_(static_cast<int>(messages.bytes)),
        buffers_(buffers) {}

  void begin(std::size_t slot) {
    MPI_Irecv(buffers_.in.slot(slot), count_, MPI_BYTE, peer_, kTag, comm_, &requests_[0]);
    MPI_Isend(buffers_.out.slot(slot), count_, MPI_BYTE, peer_, kTag, comm_, &requests_[1]);
  }
  void test() {
    int done = 0;
    MPI_Testall(2, requests_.data(), &done, MPI_STATUSES_IGNORE);
  }
  void finish() { MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  static constexpr int kTag = 3;

  const MPI_Comm comm_;
  const int peer_;
  const int count_;
  const Buffers buffers_;
  std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

class IsendIrecv final : private End<BothWays>, public Overlapping<PairCase<BothWays>> {
 public:
  IsendIrecv(std::unique_ptr<OverlapTimer> timer, const CaseContext& context,
             const Messages& messages)
      : End(context, messages,
            [&](const Buffers& buffers) {
              return std::make_unique<BothWays>(comm_of(context.group), messages, buffers);
            }),
        Overlapping(std::move(timer), context, messages, slots.both(), *End::transport) {}

 private:
  BothWays& exchange() { return PairCase<BothWays>::transport(); }
  void begin() override {
    exchange().begin(outgoing(0, bytes()));
    next_window();
  }
  void test() override { exchange().test(); }
  void finish() override { exchange().finish(); }
};

std::unique_ptr<Case> make(const CaseContext& context, std::unique_ptr<OverlapTimer> timer) {
  const Messages messages = both_ways_messages(context, 1);
  check_memory(context, {.all = Slots::bytes(messages)});
  return std::make_unique<IsendIrecv>(std::move(timer), context, messages);
}

const BenchmarkInfo alone{.name = "exchange", .summary = "", .smallest = 1};
const Register entry(overlap_benchmark("isend_irecv", alone, {}, make));

}  // namespace
}  // namespace nearpeak
