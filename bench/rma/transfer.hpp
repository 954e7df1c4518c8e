// SPDX-License-Identifier: Apache-2.0
// Put and get: whole messages, into the memory of the peer or out of it. A benchmark is an
// operation and a kind of measurement.
#pragma once

#include "mpi/mpi_group.hpp"
#include "pt2pt/pair_case.hpp"
#include "rma/window.hpp"

namespace nearpeak {

struct Put {
  static constexpr bool kFetches = false;
  static void call(char* local, int bytes, int peer, MPI_Aint place, MPI_Win window) {
    MPI_Put(local, bytes, MPI_BYTE, peer, place, bytes, MPI_BYTE, window);
  }
};

struct Get {
  static constexpr bool kFetches = true;
  static void call(char* local, int bytes, int peer, MPI_Aint place, MPI_Win window) {
    MPI_Get(local, bytes, MPI_BYTE, peer, place, bytes, MPI_BYTE, window);
  }
};

// kLatency: one operation of rank 0 and its synchronisation. kRate: a window of them, then the
// synchronisation. kBothWays: of both ranks at once.
enum class Flow { kLatency, kRate, kBothWays };

// Throws Unfit where the sender, which takes no part in a get, is to write.
Messages transfer_messages(const CaseContext& context, bool fetches, Flow flow);
Benchmark transfer_benchmark(BenchmarkInfo info, bool fetches, Flow flow,
                             std::function<std::unique_ptr<Case>(const CaseContext&)> make);

// The window, and the buffer that the origin's operations take from or bring to.
struct TransferBuffers {
  // Collective; throws Unfit on all ranks.
  TransferBuffers(const CaseContext& context, const Messages& messages, bool fetches, Flow flow);
  Buffers both(bool fetches) {
    if (fetches) return {window.buffer(), *local};
    return {*local, window.buffer()};
  }
  RmaWindow window;
  std::unique_ptr<SlotBuffer> local;
};

template <class Operation, Flow kFlow>
class Transfer final : private TransferBuffers, public PairCase<RmaWindow> {
  using Base = PairCase<RmaWindow>;

 public:
  Transfer(const CaseContext& context, const Messages& messages)
      : TransferBuffers(context, messages, Operation::kFetches, kFlow),
        Base(context, messages, both(Operation::kFetches), TransferBuffers::window) {}

  void begin_round(std::uint64_t round, Part part) override {
    Base::begin_round(round, part);
    transport().open();
  }
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override {
    TransferBuffers::window.settle();
    return Base::wrong(round, part);
  }

  void run(std::uint64_t n) override {
    RmaWindow& by = transport();
    const bool keeps_step = kFlow == Flow::kBothWays && by.is_passive();
    for (std::uint64_t i = 0; i < n; ++i) {
      by.begin();
      if (by.is_origin())
        for (std::uint64_t m = 0; m < messages().window; ++m) operate(m);
      by.end();
      if (keeps_step) empty_exchange();
      next_window();
    }
  }

  std::vector<double> values(const Times& times) const override {
    if constexpr (kFlow == Flow::kLatency) return {times.us};
    return {rate(times.us, (kFlow == Flow::kBothWays ? 2 : 1) * messages().window)};
  }

 private:
  void operate(std::uint64_t message) {
    RmaWindow& by = transport();
    const std::size_t here = Operation::kFetches ? slot(message) : outgoing(message, bytes());
    Operation::call(local->slot(here), static_cast<int>(bytes()), by.peer(), by.place(here),
                    by.handle());
  }
  void empty_exchange() {
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, transport().peer(), 0, nullptr, 0, MPI_BYTE,
                 transport().peer(), 0, comm_of(context().group), MPI_STATUS_IGNORE);
  }
};

template <class Operation, Flow kFlow>
Benchmark transfer(BenchmarkInfo info) {
  return transfer_benchmark(std::move(info), Operation::kFetches, kFlow,
                            [](const CaseContext& context) -> std::unique_ptr<Case> {
                              return std::make_unique<Transfer<Operation, kFlow>>(
                                  context, transfer_messages(context, Operation::kFetches, kFlow));
                            });
}

}  // namespace nearpeak
