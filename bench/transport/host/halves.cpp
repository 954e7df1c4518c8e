// SPDX-License-Identifier: Apache-2.0
// Both ends copy each message: the receiver chunks of it out of the sender's memory, from the
// front, while the sender copies others into the receiver's, from the back, as far as each comes.
// One CPU alone does not reach what the memory can do.
#include <algorithm>
#include <atomic>
#include <fstream>

#include "accel/host/copy.hpp"
#include "options/options.hpp"
#include "transport/host/host.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLeastChunk = std::size_t{16} << 10;
constexpr std::size_t kMostChunk = std::size_t{64} << 10;
constexpr std::size_t kChunks = 8;  // of a message that is not large

// Bytes of the caches that a core shares with no other, as the kernel tells them; where it does
// not, those of a large core.
std::size_t private_cache() {
  const std::string cpu = "/sys/devices/system/cpu/cpu0/";
  const auto told = [&](const std::string& file) {
    std::string text;
    std::getline(std::ifstream(cpu + file) >> std::ws, text);
    return text;
  };
  const std::string siblings = told("topology/thread_siblings_list");
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string cache = "cache/index" + std::to_string(index);
    if (const std::string size = told(cache + "/size");
        !size.empty() && told(cache + "/shared_cpu_list") == siblings)
      largest = std::max(largest, parse_bytes(size));
  }
  return largest > 0 ? largest : std::size_t{2} << 20;
}

// What the sender writes must leave its own caches, or it crosses no path: it writes half of the
// slots, and those are to be twice what its caches hold.
bool applies(const Messages& messages) {
  static const std::size_t least = 4 * private_cache();
  return messages.bytes >= 2 * kLeastChunk && messages.bytes * messages.slots >= least;
}

// How many chunks of a message have been given out, to either end; in the receiver's inbox, for
// some messages in turn. The high half is the message's number, from 1.
struct alignas(128) Claims {
  static constexpr std::size_t kOpen = 64;
  std::atomic<std::uint64_t> given{0};

  // Whether one more of `chunks` is the caller's.
  bool claim(std::uint64_t message, std::uint64_t chunks) {
    std::uint64_t seen = given.load(std::memory_order_relaxed);
    while (true) {
      if (seen >> 32 > message) return false;
      const std::uint64_t count = seen >> 32 == message ? seen & 0xFFFFFFFF : 0;
      if (count == chunks) return false;
      if (given.compare_exchange_weak(seen, message << 32 | (count + 1))) return true;
    }
  }
};
static_assert(sizeof(Claims) * Claims::kOpen <= HostMemory::kInbox);

class HalvesTransport final : public Transport {
 public:
  HalvesTransport(const HostEnd& end, CopyFunction copy)
      : stride_(end.stride), wait_(end.wait), copy_(copy), own_(end.own), peer_(end.peer) {
    end.reset();
    for (std::size_t i = 0; i < Claims::kOpen; ++i) new (claims(own_, i)) Claims;
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    sends_.push({slot, bytes});
    own_.control().posted.tell(++posted_);
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    receives_.push({slot, bytes});
    own_.control().asked.tell(++asked_);
  }
  void finish() override {
    while (!sends_.empty() || !receives_.empty()) {
      const bool received = !receives_.empty() && receive_some();
      if (!received && !(!sends_.empty() && send_some())) wait_once(wait_);
    }
  }

 private:
  static Claims* claims(const HostMemory& receiver, std::uint64_t message) {
    return reinterpret_cast<Claims*>(receiver.inbox()) + message % Claims::kOpen;
  }
  static std::size_t chunk_of(const OpenMessage& message) {
    const std::size_t part = message.bytes / kChunks / kLine * kLine;
    return std::clamp(part, kLeastChunk, kMostChunk);
  }
  static std::uint64_t chunks_of(const OpenMessage& message) {
    return (message.bytes + chunk_of(message) - 1) / chunk_of(message);
  }
  void copy_chunk(const OpenMessage& message, const HostMemory& from, const HostMemory& to,
                  std::uint64_t index) const {
    const std::size_t at = index * chunk_of(message);
    const std::size_t begin = message.slot * stride_ + at;
    copy_(to.in.data() + begin, from.out.data() + begin,
          std::min(chunk_of(message), message.bytes - at));
  }

  // A chunk of the first message that is not whole. False where there is nothing to do yet.
  bool receive_some() {
    const OpenMessage& message = receives_.front();
    const std::uint64_t number = received_ + 1;
    if (peer_.control().posted.told() < number) return false;
    if (claims(own_, number)->claim(number, chunks_of(message))) {
      copy_chunk(message, peer_, own_, mine_in_++);
      return true;
    }
    // The sender's are in their place when it says so; where it has none there is none to wait for.
    if (mine_in_ < chunks_of(message) && peer_.control().taken.told() < number) return false;
    mine_in_ = 0;
    received_ = number;
    receives_.pop();
    return true;
  }

  // The same for what this end sends, where the receiver is ready for it: not before may anything
  // be written there.
  bool send_some() {
    const OpenMessage& message = sends_.front();
    const std::uint64_t number = sent_ + 1;
    if (chunks_of(message) > 0) {
      if (peer_.control().asked.told() < number) return false;
      if (claims(peer_, number)->claim(number, chunks_of(message))) {
        copy_chunk(message, own_, peer_, chunks_of(message) - ++mine_out_);
        return true;
      }
    }
    own_.control().taken.tell(number);
    mine_out_ = 0;
    sent_ = number;
    sends_.pop();
    return true;
  }

  const std::size_t stride_;
  const Wait wait_;
  const CopyFunction copy_;
  const HostMemory& own_;
  const HostMemory& peer_;
  OpenMessages sends_;
  OpenMessages receives_;
  std::uint64_t posted_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t mine_in_ = 0;  // chunks that this end has copied, of the message under way
  std::uint64_t mine_out_ = 0;
};

const std::vector<RegisterHostMethod> entries = [] {
  std::vector<RegisterHostMethod> out;
  for (const CopyKind& kind : copy_kinds()) {
    if (kind.name != "memcpy" && kind.name != "nt") continue;  // of chunks like these no other wins
    out.emplace_back(HostMethod{.name = kind.name == "memcpy" ? "halves" : "halves-" + kind.name,
                                .applies = applies,
                                .make =
                                    [kind](const HostEnd& end) {
                                      return std::make_unique<HalvesTransport>(end, kind.copy);
                                    },
                                .shared_out = true,
                                .shared_in = true});
  }
  return out;
}();

}  // namespace
}  // namespace nearpeak
