// SPDX-License-Identifier: Apache-2.0
// The payload and a flag in the same cache lines of the receiver's inbox: the least that one CPU
// can tell another.
#pragma once

#include <algorithm>
#include <cstring>

#include "transport/host/host.hpp"

namespace nearpeak {

// A box is whole lines. Its last eight bytes are the number of the message that it holds, and
// nothing else ever stands there; payload begins so many lines before the end as it needs. Lines
// are written in order, so that the receiver polls the one that arrives last. A sender looks at how
// many have been taken only when it runs out of boxes.
class FlagTransport final : public Transport {
 public:
  FlagTransport(const HostEnd& end, Wait wait)
      : out_(end.out.slot(0)),
        in_(end.in.slot(0)),
        stride_(end.stride),
        wait_(wait),
        box_(lines(end.messages.bytes)),
        boxes_(HostMemory::kInbox / box_),
        to_end_(end.peer.inbox() + box_),
        from_end_(end.own.inbox() + box_),
        taken_(end.own.control().taken),
        peer_taken_(end.peer.control().taken) {
    boxes_ = std::min(boxes_, std::max<std::uint64_t>(kLeastBoxes, 2 * end.messages.window));
    end.reset();
    for (std::uint64_t i = 0; i < boxes_; ++i) new (from_end_ + i * box_ - sizeof(Flag)) Flag(0);
  }

  void begin_send(std::size_t slot, std::size_t bytes) override { put(slot, bytes); }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    receives_.push({slot, bytes});
  }
  void finish() override {
    while (!receives_.empty()) take_next();
  }
  void send(std::size_t slot, std::size_t bytes) override { put(slot, bytes); }
  void receive(std::size_t slot, std::size_t bytes) override { take(slot, bytes); }
  void exchange(std::size_t slot, std::size_t bytes) override {
    put(slot, bytes);
    take(slot, bytes);
  }

  // Above, every byte that is copied twice is one too many.
  static constexpr std::size_t kLargest = 4096;

 private:
  using Flag = std::atomic<std::uint64_t>;
  static constexpr std::size_t kLine = 64;
  static constexpr std::uint64_t kLeastBoxes = 64;

  static std::size_t lines(std::size_t bytes) {
    return (bytes + sizeof(Flag) + kLine - 1) / kLine * kLine;
  }
  static Flag& flag_of(char* box_end) { return *reinterpret_cast<Flag*>(box_end - sizeof(Flag)); }

  void put(std::size_t slot, std::size_t bytes) {
    if (sent_ - known_taken_ >= boxes_) await_box();
    char* const box_end = to_end_ + to_ * box_;
    if (++to_ == boxes_) to_ = 0;
    if (bytes > 0) copy(box_end - lines(bytes), out_ + slot * stride_, bytes);
    flag_of(box_end).store(++sent_, std::memory_order_release);
  }

  void take(std::size_t slot, std::size_t bytes) {
    char* const box_end = from_end_ + from_ * box_;
    const Flag& flag = flag_of(box_end);
    const std::uint64_t number = received_ + 1;
    wait_until(wait_, [&] { return flag.load(std::memory_order_acquire) == number; });
    if (++from_ == boxes_) from_ = 0;
    std::memcpy(in_ + slot * stride_, box_end - lines(bytes), bytes);
    taken_.tell(++received_);
  }
  void take_next() {
    const OpenMessage next = receives_.front();
    receives_.pop();
    take(next.slot, next.bytes);
  }

  // Takes what has come meanwhile: the other may wait for a box too.
  void await_box() {
    wait_until(wait_, [&] {
      known_taken_ = peer_taken_.told();
      if (sent_ - known_taken_ < boxes_) return true;
      if (!receives_.empty() &&
          flag_of(from_end_ + from_ * box_).load(std::memory_order_acquire) == received_ + 1)
        take_next();
      return false;
    });
  }

  // A slot and a box are whole lines, so that what fits beside the flag is copied with a length
  // that is known when compiled.
  static void copy(char* to, const char* from, std::size_t bytes) {
    if (bytes <= kLine - sizeof(Flag))
      std::memcpy(to, from, kLine - sizeof(Flag));
    else
      std::memcpy(to, from, bytes);
  }

  const char* const out_;
  char* const in_;
  const std::size_t stride_;
  const Wait wait_;
  const std::size_t box_;  // bytes
  std::uint64_t boxes_;
  char* const to_end_;  // of the first box
  char* const from_end_;
  Counter& taken_;
  const Counter& peer_taken_;
  std::uint64_t to_ = 0;  // the next box
  std::uint64_t from_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t known_taken_ = 0;
  OpenMessages receives_;
};

}  // namespace nearpeak
