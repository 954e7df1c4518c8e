// SPDX-License-Identifier: Apache-2.0
// Single copies by the receiver, who knows where the sender's slots are: the sender only says that
// they are ready, and learns when they have been taken.
#pragma once

#include "native/pair.hpp"

namespace nearpeak {

// Pull: void operator()(char* to, std::size_t slot) copies the other's slot; it throws when it
// cannot.
template <class Pull>
class PullTransfer final : public Transfer {
 public:
  PullTransfer(const PairEnd& end, Pull pull) : end_(end), pull_(pull), slots_(end.exchange) {
    end.posted().value.store(0);
    end.done().value.store(0);
  }

  void iterate(std::uint64_t n) override {
    for (std::uint64_t i = 0; i < n; ++i) {
      ++round_;
      switch (end_.exchange.pattern) {
        case Pattern::kPingPong:
          ping_pong();
          break;
        case Pattern::kOneWay:
          one_way();
          break;
        case Pattern::kBothWays:
          both_ways();
          break;
      }
      slots_.next();
    }
  }

 private:
  // A round's window is ready, or has been taken.
  void tell(Counter& counter) { counter.value.store(round_, std::memory_order_release); }
  void hear(const Counter& counter) {
    end_.wait.until([&] { return counter.value.load(std::memory_order_acquire) == round_; });
  }

  void take() {
    for (std::uint64_t m = 0; m < end_.exchange.window; ++m) {
      const std::size_t slot = slots_.first() + m;
      pull_(end_.in.slot(slot), slot);
    }
  }

  // The message back says that the first has been taken.
  void ping_pong() {
    if (end_.exchange.rank == 0) tell(end_.posted());
    hear(end_.peer_posted());
    take();
    if (end_.exchange.rank == 1) tell(end_.posted());
  }

  void one_way() {
    if (end_.exchange.rank == 0) {
      tell(end_.posted());
      hear(end_.peer_done());
    } else {
      hear(end_.peer_posted());
      take();
      tell(end_.done());
    }
  }

  void both_ways() {
    tell(end_.posted());
    hear(end_.peer_posted());
    take();
    tell(end_.done());
    hear(end_.peer_done());
  }

  const PairEnd end_;
  Pull pull_;
  Slots slots_;
  std::uint64_t round_ = 0;
};

}  // namespace nearpeak
