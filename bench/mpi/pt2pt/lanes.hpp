// SPDX-License-Identifier: Apache-2.0
// Cases that make their own transports: of one pair, or of several at once on each rank (lanes),
// each with buffers of its own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "transport/transport.hpp"

namespace nearpeak {

// The slots and the transport of one end of a pair.
template <class T>
struct End {
  using Make = std::function<std::unique_ptr<T>(const Buffers&)>;
  End(const CaseContext& context, const Messages& messages, const Make& make)
      : slots(messages, context.memory, context.memory, context.offset),
        transport(make(slots.both())) {}
  Slots slots;
  std::unique_ptr<T> transport;
};

// A PairCase<T> that has its own end. Its buffers hold the payload of `messages.rank`, which need
// not be the rank that MPI knows.
template <class Pair, class T>
class Owning : private End<T>, public Pair {
 public:
  Owning(const CaseContext& context, const Messages& messages, const typename End<T>::Make& make)
      : End<T>(context, messages, make),
        Pair(context, messages, End<T>::slots.both(), *End<T>::transport) {}
};

// The messages of a lane, whose two ends have numbers that no other lane has: their payloads
// differ, so that one in the wrong lane is seen.
inline Messages in_lane(Messages messages, int lane) {
  const bool first = messages.first();
  messages.rank = 2 * lane + (first ? 0 : 1);
  messages.peer = 2 * lane + (first ? 1 : 0);
  return messages;
}

// All lanes have as many slots and the same window, on every rank.
template <class Pair>
class Lanes : public Case {
 public:
  std::uint64_t window() const final { return lanes_.front()->window(); }
  std::uint64_t cycle() const final { return lanes_.front()->cycle(); }
  std::size_t round_bytes() const final { return lanes_.size() * lanes_.front()->round_bytes(); }
  std::uint64_t fewest_rounds() const final { return lanes_.front()->fewest_rounds(); }

  void begin_round(std::uint64_t round, Part part) override {
    for (const auto& lane : lanes_) lane->begin_round(round, part);
  }
  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const final {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
      if (auto bad = lanes_[lane]->wrong(round, part)) {
        bad->slot += lane * slots_;
        return bad;
      }
    return std::nullopt;
  }

 protected:
  explicit Lanes(std::size_t slots) : slots_(slots) {}
  void add(std::unique_ptr<Pair> lane) { lanes_.push_back(std::move(lane)); }
  const std::vector<std::unique_ptr<Pair>>& lanes() const { return lanes_; }

 private:
  const std::size_t slots_;  // of each
  std::vector<std::unique_ptr<Pair>> lanes_;
};

}  // namespace nearpeak
