// SPDX-License-Identifier: Apache-2.0
// Benchmarks whose messages go there and back, one at a time.
#pragma once

#include "marks/marks.hpp"
#include "pt2pt/pair_case.hpp"

namespace nearpeak {

inline Axis ping_pong_calls() {
  return {kCalls,
          {kBlocking, "nonblocking", kPersistent},
          "MPI_Send and MPI_Recv; MPI_Isend, MPI_Irecv and a wait; MPI_Start of requests made "
          "before, and a wait"};
}

// There and back the same, if `there` and `back` do not say otherwise.
inline Messages ping_pong_messages(const CaseContext& context, int peer, bool there = true,
                                   bool back = true) {
  const bool filled = context.bytes > 0;
  return pair_messages(context, peer, 1, filled && there, filled && back);
}

template <class T>
class PingPong : public PairCase<T> {
  using Base = PairCase<T>;
  using Base::is_first, Base::next_window, Base::outgoing, Base::slot, Base::transport;

 public:
  PingPong(const CaseContext& context, const Messages& messages, const Buffers& buffers, T& over)
      : Base(context, messages, buffers, over), blocking_(calls_are(context, kBlocking)) {}

  void run(std::uint64_t n) override {
    const auto& messages = this->messages();
    round_trips(n, messages.sends ? messages.bytes : 0, messages.receives ? messages.bytes : 0,
                true);
  }

 protected:
  // `uses`: a slot each. Empty messages use none.
  void round_trips(std::uint64_t n, std::size_t out, std::size_t in, bool uses) {
    T& by = transport();
    for (std::uint64_t i = 0; i < n; ++i) {
      if (blocking_ && is_first()) {
        by.send(outgoing(0, out), out);
        by.receive(slot(0), in);
        mark(Mark::kTurn);
      } else if (blocking_) {
        by.receive(slot(0), in);
        mark(Mark::kTurn);
        by.send(outgoing(0, out), out);
      } else if (is_first()) {
        by.begin_receive(slot(0), in);
        by.begin_send(outgoing(0, out), out);
        by.finish();
        mark(Mark::kTurn);
      } else {
        by.begin_receive(slot(0), in);
        by.finish();
        mark(Mark::kTurn);
        by.begin_send(outgoing(0, out), out);
        by.finish();
      }
      if (uses) next_window();
    }
  }

 private:
  const bool blocking_;
};

}  // namespace nearpeak
