// SPDX-License-Identifier: Apache-2.0
// Copied in by the sender and out by the receiver, through a ring that both have mapped: what most
// shared-memory transports of MPI libraries do. Both copy at once, on pieces of a message that stay
// in the caches.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "native/copy.hpp"
#include "native/pair.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kRing = std::size_t{256} << 10;  // fits second-level caches
constexpr std::size_t kPiece = std::size_t{16} << 10;
constexpr std::size_t kPublish = 1024;  // small messages are shown to the receiver together
// A receiver that sends too takes pieces this much later than it sends its own.
constexpr std::uint64_t kBehind = 4;
static_assert((kBehind + 2) * (kPiece + kLine) <= kRing);

// Each message is its length, then its bytes, which are packed: small messages share lines, and
// larger ones begin on one.
std::size_t padding(std::size_t bytes) { return bytes < kLine ? sizeof(std::uint64_t) : kLine; }

std::size_t padded(std::size_t bytes) {
  const std::size_t unit = padding(bytes);
  return (bytes + unit - 1) / unit * unit;
}

std::size_t inbox_bytes(const Exchange&) { return kRing; }

// Both directions' counters: bytes put in, as told by the sender, and taken out, by the receiver.
class Writer {
 public:
  Writer(char* ring, Counter& put, const Counter& taken, Wait wait)
      : ring_(ring), put_(put), taken_(taken), wait_(wait) {}

  void begin_message(std::size_t bytes) {
    reserve(padding(bytes));
    const std::uint64_t length = bytes;
    std::memcpy(ring_ + at_ % kRing, &length, sizeof length);
    at_ += padding(bytes);
  }

  void piece(const char* from, std::size_t bytes) {
    reserve(padded(bytes));
    const std::size_t place = at_ % kRing;
    const std::size_t first = std::min(bytes, kRing - place);
    std::memcpy(ring_ + place, from, first);
    if (first < bytes) std::memcpy(ring_, from + first, bytes - first);
    at_ += padded(bytes);
    if (at_ - shown_ >= kPublish) show();
  }

  void show() {
    if (shown_ == at_) return;
    shown_ = at_;
    put_.value.store(at_, std::memory_order_release);
  }

 private:
  void reserve(std::size_t bytes) {
    if (at_ + bytes - free_from_ <= kRing) return;
    show();
    wait_.until([&] {
      free_from_ = taken_.value.load(std::memory_order_acquire);
      return at_ + bytes - free_from_ <= kRing;
    });
  }

  char* ring_;
  Counter& put_;
  const Counter& taken_;
  Wait wait_;
  std::uint64_t at_ = 0;
  std::uint64_t shown_ = 0;
  std::uint64_t free_from_ = 0;
};

class Reader {
 public:
  Reader(const char* ring, const Counter& put, Counter& taken, Wait wait, CopyFunction copy)
      : ring_(ring), put_(put), taken_(taken), wait_(wait), copy_(copy) {}

  // `before_wait` is called when nothing is there yet.
  template <class BeforeWait>
  void begin_message(std::size_t expected, BeforeWait before_wait) {
    await(padding(expected), before_wait);
    std::uint64_t length = 0;
    std::memcpy(&length, ring_ + at_ % kRing, sizeof length);
    if (length != expected) throw std::runtime_error("a message of another length came");
    at_ += padding(expected);
  }

  template <class BeforeWait>
  void piece(char* to, std::size_t bytes, BeforeWait before_wait) {
    await(padded(bytes), before_wait);
    const std::size_t place = at_ % kRing;
    const std::size_t first = std::min(bytes, kRing - place);
    copy_(to, ring_ + place, first);
    if (first < bytes) copy_(to + first, ring_, bytes - first);
    at_ += padded(bytes);
    if (at_ - told_ >= kRing / 8) tell();
  }

  void tell() {
    told_ = at_;
    taken_.value.store(at_, std::memory_order_release);
  }

 private:
  template <class BeforeWait>
  void await(std::size_t bytes, BeforeWait before_wait) {
    if (at_ + bytes <= ready_) return;
    before_wait();
    wait_.until([&] {
      ready_ = put_.value.load(std::memory_order_acquire);
      return at_ + bytes <= ready_;
    });
  }

  const char* ring_;
  const Counter& put_;
  Counter& taken_;
  Wait wait_;
  CopyFunction copy_;
  std::uint64_t at_ = 0;
  std::uint64_t told_ = 0;
  std::uint64_t ready_ = 0;
};

// Goes through the pieces of a window's messages.
class Pieces {
 public:
  Pieces(std::size_t bytes, std::uint64_t messages) : bytes_(bytes), messages_(messages) {}
  bool over() const { return message_ == messages_; }
  bool begins_message() const { return offset_ == 0; }
  std::uint64_t message() const { return message_; }
  std::size_t offset() const { return offset_; }
  std::size_t bytes() const { return std::min(kPiece, bytes_ - offset_); }
  void next() {
    offset_ += bytes();
    if (offset_ < bytes_) return;
    offset_ = 0;
    ++message_;
  }

 private:
  std::size_t bytes_;
  std::uint64_t messages_;
  std::uint64_t message_ = 0;
  std::size_t offset_ = 0;
};

class RingTransfer final : public PairTransfer<RingTransfer> {
 public:
  RingTransfer(const PairEnd& end, CopyFunction copy_out)
      : RoundTransfer(end),
        writer_(end.peer_inbox(), end.posted(), end.peer_done(), end.wait),
        reader_(end.inbox(), end.peer_posted(), end.done(), end.wait, copy_out) {
    end.posted().value.store(0);
    end.done().value.store(0);
  }

 private:
  friend RoundTransfer;

  std::size_t bytes() const { return end_.exchange.bytes; }

  void send_piece(Pieces& pieces) {
    if (pieces.begins_message()) writer_.begin_message(bytes());
    writer_.piece(end_.out.slot(slots_.first() + pieces.message()) + pieces.offset(),
                  pieces.bytes());
    pieces.next();
  }

  template <class BeforeWait>
  void receive_piece(Pieces& pieces, BeforeWait before_wait) {
    if (pieces.begins_message()) reader_.begin_message(bytes(), before_wait);
    reader_.piece(end_.in.slot(slots_.first() + pieces.message()) + pieces.offset(), pieces.bytes(),
                  before_wait);
    pieces.next();
  }

  void send_all(std::uint64_t messages) {
    Pieces pieces(bytes(), messages);
    while (!pieces.over()) send_piece(pieces);
    writer_.show();
  }

  void receive_all(std::uint64_t messages) {
    Pieces pieces(bytes(), messages);
    while (!pieces.over()) receive_piece(pieces, [] {});
  }

  void ping_pong() {
    const bool first = end_.exchange.rank == 0;
    first ? send_all(1) : receive_all(1);
    first ? receive_all(1) : send_all(1);
  }

  // The answer is an empty message.
  void one_way() {
    if (end_.exchange.rank == 0) {
      send_all(end_.exchange.window);
      reader_.begin_message(0, [] {});
      reader_.tell();
    } else {
      receive_all(end_.exchange.window);
      reader_.tell();
      writer_.begin_message(0);
      writer_.show();
    }
  }

  // A piece out, a piece in: each end shows what it has sent before it waits, and takes pieces late
  // enough not to wait for those that it has just asked the other to take, so that neither stops.
  void both_ways() {
    Pieces out(bytes(), end_.exchange.window);
    Pieces in(bytes(), end_.exchange.window);
    const auto show = [this] { writer_.show(); };
    for (std::uint64_t i = 0; !in.over(); ++i) {
      if (!out.over()) send_piece(out);
      if (out.over()) writer_.show();
      if (i >= kBehind) receive_piece(in, show);
    }
    reader_.tell();
    writer_.begin_message(0);
    writer_.show();
    reader_.begin_message(0, [] {});
  }

  Writer writer_;
  Reader reader_;
};

// One for each way in which the receiver may copy out.
const std::vector<RegisterPairMethod> entries = [] {
  std::vector<RegisterPairMethod> out;
  for (const CopyKind& kind : copy_kinds()) {
    const bool first = kind.name == "memcpy";
    if (!first && kind.name != "nt") continue;  // on pieces like these no other wins
    out.emplace_back(PairMethod{first ? "ring" : "ring-" + kind.name, kind.smallest,
                                ~std::size_t{0}, inbox_bytes, always_available,
                                [copy = kind.copy](const PairEnd& end) {
                                  return std::make_unique<RingTransfer>(end, copy);
                                }});
  }
  return out;
}();

}  // namespace
}  // namespace nearpeak
