// SPDX-License-Identifier: Apache-2.0
// The payload and a flag in the same cache lines of the receiver's inbox: the least that one CPU
// can tell another.
#include <cstring>
#include <limits>

#include "native/pair.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kLargest = 8192;  // each byte is copied twice: single copies win above

constexpr std::size_t kLine = 64;
constexpr std::size_t kFlag = sizeof(std::uint64_t);
using Flag = std::atomic<std::uint64_t>;

// A box is whole lines: the flag, then the payload. One for each message of a window: before a box
// is used again, the answer to its window has told that it is empty.
std::size_t box_bytes(const Exchange& exchange) {
  return (kFlag + exchange.bytes + kLine - 1) / kLine * kLine;
}

std::size_t inbox_bytes(const Exchange& exchange) { return box_bytes(exchange) * exchange.window; }

class FlagTransfer final : public PairTransfer<FlagTransfer> {
 public:
  explicit FlagTransfer(const PairEnd& end)
      : RoundTransfer(end), bytes_(end.exchange.bytes), box_(box_bytes(end.exchange)) {
    for (std::uint64_t m = 0; m < end.exchange.window; ++m)
      new (end.peer_inbox() + m * box_) Flag(0);
    end.posted().value.store(0);
  }

 private:
  friend RoundTransfer;

  void put(std::uint64_t message) {
    char* box = end_.peer_inbox() + message * box_;
    std::memcpy(box + kFlag, end_.out.slot(slots_.first() + message), bytes_);
    reinterpret_cast<Flag*>(box)->store(round_, std::memory_order_release);
  }

  void get(std::uint64_t message) {
    const char* box = end_.inbox() + message * box_;
    const auto* flag = reinterpret_cast<const Flag*>(box);
    end_.wait.until([&] { return flag->load(std::memory_order_acquire) == round_; });
    std::memcpy(end_.in.slot(slots_.first() + message), box + kFlag, bytes_);
  }

  void tell() { end_.posted().value.store(round_, std::memory_order_release); }
  void hear() {
    const auto& told = end_.peer_posted().value;
    end_.wait.until([&] { return told.load(std::memory_order_acquire) == round_; });
  }

  void ping_pong() {
    if (end_.exchange.rank == 0) {
      put(0);
      get(0);
    } else {
      get(0);
      put(0);
    }
  }

  void one_way() {
    const std::uint64_t window = end_.exchange.window;
    if (end_.exchange.rank == 0) {
      for (std::uint64_t m = 0; m < window; ++m) put(m);
      hear();
    } else {
      for (std::uint64_t m = 0; m < window; ++m) get(m);
      tell();
    }
  }

  void both_ways() {
    const std::uint64_t window = end_.exchange.window;
    for (std::uint64_t m = 0; m < window; ++m) put(m);
    for (std::uint64_t m = 0; m < window; ++m) get(m);
    tell();
    hear();
  }

  std::size_t bytes_;
  std::size_t box_;
};

const RegisterPairMethod entry({"flag", 0, kLargest, inbox_bytes, always_available,
                                [](const PairEnd& end) -> std::unique_ptr<Transfer> {
                                  return std::make_unique<FlagTransfer>(end);
                                }});

}  // namespace
}  // namespace nearpeak
