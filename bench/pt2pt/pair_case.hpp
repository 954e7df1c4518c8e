// SPDX-License-Identifier: Apache-2.0
// What the point-to-point benchmarks have in common: slots for the messages of a window, several
// windows of them where buffers rotate, and what must have arrived.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "benchmark/calls.hpp"
#include "benchmark/slots.hpp"

namespace nearpeak {

// How often messages of so many bytes are sent in an iteration of many pairs, so that the time in
// which not all pairs are at work is a small part of it.
inline std::uint64_t times_by_many(const CaseContext& context, std::size_t bytes) {
  if (!context.timed) return 1;
  constexpr std::uint64_t kBytes = std::uint64_t{16} << 20;
  constexpr std::uint64_t kMost = 64;
  return std::clamp<std::uint64_t>(kBytes / std::max<std::size_t>(bytes, 1), 1, kMost);
}

// Windows between this rank and a peer, of which the first, with the lower number, sends messages
// with bytes, or the second, or both.
inline Messages pair_messages(const CaseContext& context, int peer, std::uint64_t window,
                              bool first_sends, bool second_sends) {
  const int rank = context.group.rank();
  const bool first = rank < peer;
  return {.bytes = context.bytes,
          .window = window,
          .slots = slots_for(context, window),
          .sends = first ? first_sends : second_sends,
          .receives = first ? second_sends : first_sends,
          .rank = rank,
          .peer = peer};
}
inline Messages both_ways_messages(const CaseContext& context, std::uint64_t window) {
  return pair_messages(context, 1 - context.group.rank(), window, true, true);
}

// T is the transport: a final class where calls must cost nothing, else Transport itself.
template <class T>
class PairCase : public Case {
 public:
  PairCase(const CaseContext& context, const Messages& messages, const Buffers& buffers, T& over)
      : context_(context),
        messages_(messages),
        buffers_(buffers),
        transport_(over),
        single_(context.axis(kReuse) == "single"),
        writes_(context.axis(kTouch) == "sender" && messages.sends),
        windows_(single_ ? 1 : messages.slots / messages.window),
        step_(stride_of(windows_)) {}

  std::uint64_t window() const final { return messages_.window; }
  std::uint64_t cycle() const final { return windows_; }
  std::size_t round_bytes() const final { return bytes() * messages_.window; }
  std::uint64_t fewest_rounds() const final {
    return std::max(kFewestRounds, (kRounds + window_slots() - 1) / window_slots());
  }

  std::optional<LinkBytes> payload() const override {
    const std::uint64_t all = bytes() * messages_.window;
    return LinkBytes{messages_.sends ? all : 0, messages_.receives ? all : 0};
  }

  // The out buffer comes with round 0 in all of its slots.
  void begin_round(std::uint64_t round, Part part) override {
    if (round <= 1) turn_ = first_ = used_ = 0;
    last_ = first_;
    const std::size_t count = round == 0 ? SlotBuffer::kRest : window_slots();
    const Part renewed = round == 0 ? Part::kStamps : part;
    if (messages_.sends)
      buffers_.out.fill({seed_of(messages_.rank), round}, renewed, first_, count);
    if (messages_.receives && part == Part::kAll)
      buffers_.in.poison(seed_of(messages_.peer), first_,
                         round == 0 ? checked() * window_slots() : count);
  }

  std::optional<Mismatch> wrong(std::uint64_t round, Part part) const override {
    if (!messages_.receives) return std::nullopt;
    const Payload payload{seed_of(messages_.peer), round};
    if (round > 0) return buffers_.in.find_mismatch(payload, part, last_, window_slots());
    if (used_ >= windows_)
      return buffers_.in.find_mismatch(payload, part, 0, checked() * window_slots());
    // There was no time for every window: of those that were used, the first ones.
    std::uint64_t turn = 0;
    for (std::uint64_t i = 0; i < std::min(used_, kCheckedTurns); ++i) {
      if (turn < checked())
        if (auto bad =
                buffers_.in.find_mismatch(payload, part, turn * messages_.window, window_slots()))
          return bad;
      turn = after(turn);
    }
    return std::nullopt;
  }

 protected:
  std::size_t bytes() const { return messages_.bytes; }
  bool is_first() const { return messages_.first(); }
  // The slot of a message of the window that is under way.
  std::size_t slot(std::uint64_t message) const { return single_ ? 0 : first_ + message; }
  // The same where `bytes` of it are to be sent.
  std::size_t outgoing(std::uint64_t message, std::size_t bytes) {
    const std::size_t here = slot(message);
    if (writes_) write_lines(buffers_.out.slot(here), bytes);
    return here;
  }
  void next_window() {
    ++used_;
    if (windows_ == 1) return;
    turn_ = after(turn_);
    first_ = turn_ * messages_.window;
  }
  // GB/s from the bytes of `messages` messages in `us` microseconds.
  double rate(double us, std::uint64_t messages) const {
    return static_cast<double>(bytes()) * static_cast<double>(messages) / us / 1e3;
  }

  T& transport() { return transport_; }
  const CaseContext& context() const { return context_; }
  const Messages& messages() const { return messages_; }

 private:
  static constexpr std::uint64_t kCheckedTurns = 64;

  // A step through all windows that no prefetcher follows: near the golden section.
  static std::uint64_t stride_of(std::uint64_t windows) {
    auto step = static_cast<std::uint64_t>(static_cast<double>(windows) * 0.618);
    while (step > 1 && std::gcd(step, windows) != 1) --step;
    return std::max<std::uint64_t>(step, 1);
  }
  std::uint64_t after(std::uint64_t turn) const {
    return turn + step_ < windows_ ? turn + step_ : turn + step_ - windows_;
  }
  std::uint64_t window_slots() const { return single_ ? 1 : messages_.window; }
  // Windows that are poisoned and looked at after the timing, from the first: not gigabytes of
  // them.
  std::uint64_t checked() const {
    const std::size_t each = SlotBuffer::stride(bytes()) * messages_.window;
    return std::min(windows_, std::max<std::uint64_t>(kMostLookedAt / each, 1));
  }
  std::uint64_t seed_of(int sender) const { return payload_seed(sender, bytes()); }

  const CaseContext context_;
  const Messages messages_;
  Buffers buffers_;
  T& transport_;
  const bool single_;
  const bool writes_;
  const std::uint64_t windows_;
  const std::uint64_t step_;
  std::uint64_t turn_ = 0;  // the window that is next,
  std::size_t first_ = 0;   // and its first slot
  std::size_t last_ = 0;
  std::uint64_t used_ = 0;  // windows, since round 0 or 1 began
};

}  // namespace nearpeak
