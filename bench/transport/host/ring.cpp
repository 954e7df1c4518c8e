// SPDX-License-Identifier: Apache-2.0
// Copied in by the sender and out by the receiver, through a ring that both have mapped: what most
// shared-memory transports of MPI libraries do. Both copy at once, in pieces that stay in the
// caches.
#include <algorithm>
#include <cstring>

#include "transport/host/host.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kRing = std::size_t{256} << 10;  // fits second-level caches
constexpr std::size_t kPiece = std::size_t{16} << 10;
static_assert(kRing <= HostMemory::kInbox && kRing % kPiece == 0);

// Pieces begin on a line, and none goes round the end of the ring. Empty messages take a line.
std::size_t room_of(std::size_t bytes) {
  return std::max(kLine, (bytes + kLine - 1) / kLine * kLine);
}

// One end of a ring: how far it has come, in bytes that have ever gone through, and in the message
// that is under way.
struct Place {
  OpenMessages messages;
  std::uint64_t at = 0;
  std::size_t done = 0;

  bool over() const { return messages.empty(); }
  std::size_t piece() { return std::min(kPiece, messages.front().bytes - done); }
  // Where the next piece stands: what would go round the end begins anew.
  std::uint64_t begin() {
    const std::size_t left = kRing - at % kRing;
    return room_of(piece()) <= left ? at : at + left;
  }
  void advance() {
    const std::size_t bytes = piece();
    at = begin() + room_of(bytes);
    done += bytes;
    if (done < messages.front().bytes) return;
    done = 0;
    messages.pop();
  }
};

class RingTransport final : public Transport {
 public:
  explicit RingTransport(const HostEnd& end)
      : out_(end.out.slot(0)),
        in_(end.in.slot(0)),
        stride_(end.stride),
        wait_(end.wait),
        to_(end.peer.inbox()),
        from_(end.own.inbox()),
        posted_(end.own.control().posted),
        taken_(end.own.control().taken),
        peer_posted_(end.peer.control().posted),
        peer_taken_(end.peer.control().taken) {
    end.reset();
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    sends_.messages.push({slot, bytes});
    while (!sends_.over() && put()) {
    }
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    receives_.messages.push({slot, bytes});
  }
  // A piece out, a piece in: neither end stops for the other where both send.
  void finish() override {
    while (!sends_.over() || !receives_.over()) {
      const bool sent = !sends_.over() && put();
      const bool received = !receives_.over() && take();
      if (!sent && !received) wait_once(wait_);
    }
  }

 private:
  // The next piece, if there is room for it.
  bool put() {
    const std::uint64_t begin = sends_.begin();
    const std::size_t bytes = sends_.piece();
    const std::uint64_t end = begin + room_of(bytes);
    if (end - known_taken_ > kRing && end - (known_taken_ = peer_taken_.told()) > kRing)
      return false;
    std::memcpy(to_ + begin % kRing, out_ + sends_.messages.front().slot * stride_ + sends_.done,
                bytes);
    sends_.advance();
    posted_.tell(sends_.at);
    return true;
  }

  // The next piece, if it has come.
  bool take() {
    const std::uint64_t begin = receives_.begin();
    const std::size_t bytes = receives_.piece();
    const std::uint64_t end = begin + room_of(bytes);
    if (known_posted_ < end && (known_posted_ = peer_posted_.told()) < end) return false;
    std::memcpy(in_ + receives_.messages.front().slot * stride_ + receives_.done,
                from_ + begin % kRing, bytes);
    receives_.advance();
    // Seldom, so that the line stays here; and before the sender could have to wait for it.
    if (end - told_ >= kRing / 8) taken_.tell(told_ = end);
    return true;
  }

  const char* const out_;
  char* const in_;
  const std::size_t stride_;
  const Wait wait_;
  char* const to_;
  const char* const from_;
  Counter& posted_;
  Counter& taken_;
  const Counter& peer_posted_;
  const Counter& peer_taken_;
  Place sends_;
  Place receives_;
  std::uint64_t known_taken_ = 0;
  std::uint64_t known_posted_ = 0;
  std::uint64_t told_ = 0;
};

const RegisterHostMethod entry(
    {.name = "ring",
     .applies = [](const Messages&) { return true; },
     .make = [](const HostEnd& end) { return std::make_unique<RingTransport>(end); }});

}  // namespace
}  // namespace nearpeak
