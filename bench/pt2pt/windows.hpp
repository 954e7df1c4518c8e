// SPDX-License-Identifier: Apache-2.0
// Benchmarks that have a window of messages in flight.
#pragma once

#include "pt2pt/pair_case.hpp"

namespace nearpeak {

// `one_by_one`: the calls that move a message each.
inline Axis calls_axis(const std::string& one_by_one) {
  return {kCalls,
          {"nonblocking", kBlocking, kPersistent},
          "MPI_Isend, MPI_Irecv and MPI_Waitall; " + one_by_one +
              " one by one; MPI_Start of requests made before, and MPI_Waitall"};
}

// The rank with the lower number sends.
inline Messages one_way_messages(const CaseContext& context, int peer) {
  return pair_messages(context, peer, context.window, true, false);
}

// Windows from the first of the two ranks to the second, which answers each with an empty message.
template <class T>
class OneWay : public PairCase<T> {
  using Base = PairCase<T>;
  using Base::bytes, Base::next_window, Base::outgoing, Base::slot, Base::transport;

 public:
  OneWay(const CaseContext& context, const Messages& messages, const Buffers& buffers, T& over)
      : Base(context, messages, buffers, over), blocking_(calls_are(context, kBlocking)) {}

  void run(std::uint64_t n) override { run_windows(n); }

 protected:
  void run_windows(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (this->is_first()) {
        send_window();
        transport().receive(slot(0), 0);
      } else {
        receive_window();
        transport().send(slot(0), 0);
      }
      next_window();
    }
  }

 private:
  void send_window() {
    T& by = transport();
    for (std::uint64_t m = 0; m < this->messages().window; ++m) {
      if (blocking_)
        by.send(outgoing(m, bytes()), bytes());
      else
        by.begin_send(outgoing(m, bytes()), bytes());
    }
    if (!blocking_) by.finish();
  }

  void receive_window() {
    T& by = transport();
    for (std::uint64_t m = 0; m < this->messages().window; ++m) {
      if (blocking_)
        by.receive(slot(m), bytes());
      else
        by.begin_receive(slot(m), bytes());
    }
    if (!blocking_) by.finish();
  }

  const bool blocking_;
};

}  // namespace nearpeak
