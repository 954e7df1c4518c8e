// SPDX-License-Identifier: Apache-2.0
// Single copies by the receiver, who knows where the sender's slots are: the sender only says that
// they are ready, and learns when they have been taken.
#pragma once

#include "native/pair.hpp"

namespace nearpeak {

// Pull: void offer(std::size_t slot) readies one's own slot; void take(char* to, std::size_t slot)
// copies the other's slot, and throws when it cannot.
template <class Pull>
class PullTransfer final : public PairTransfer<PullTransfer<Pull>> {
  using Base = PairTransfer<PullTransfer<Pull>>;
  friend Base;

 public:
  PullTransfer(const PairEnd& end, Pull pull) : Base(end), pull_(pull) {
    end.posted().value.store(0);
    end.done().value.store(0);
  }

 private:
  void tell(Counter& counter, std::uint64_t value) {
    counter.value.store(value, std::memory_order_release);
  }
  void hear(const Counter& counter, std::uint64_t value) {
    end_.wait.until([&] { return counter.value.load(std::memory_order_acquire) >= value; });
  }

  void offer() {
    for (std::uint64_t m = 0; m < end_.exchange.window; ++m) {
      pull_.offer(slots_.first() + m);
      tell(end_.posted(), ++offered_);
    }
  }

  void take() {
    for (std::uint64_t m = 0; m < end_.exchange.window; ++m) {
      const std::size_t slot = slots_.first() + m;
      hear(end_.peer_posted(), ++taken_);
      pull_.take(end_.in.slot(slot), slot);
    }
  }

  // The message back says that the first has been taken.
  void ping_pong() {
    if (end_.exchange.rank == 0) offer();
    take();
    if (end_.exchange.rank == 1) offer();
  }

  void one_way() {
    if (end_.exchange.rank == 0) {
      offer();
      hear(end_.peer_done(), round_);
    } else {
      take();
      tell(end_.done(), round_);
    }
  }

  void both_ways() {
    offer();
    take();
    tell(end_.done(), round_);
    hear(end_.peer_done(), round_);
  }

  using Base::end_;
  using Base::round_;
  using Base::slots_;
  Pull pull_;
  std::uint64_t offered_ = 0;  // messages
  std::uint64_t taken_ = 0;
};

}  // namespace nearpeak
