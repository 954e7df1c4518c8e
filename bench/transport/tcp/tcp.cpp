// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <stdexcept>

#include "group/socket.hpp"
#include "sampling/clock.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kMostParts = 1024;  // IOV_MAX of Linux

// What is still to go through one direction of one connection.
class Cursor {
 public:
  void add(char* data, std::size_t bytes) {
    if (over()) {
      parts_.clear();
      at_ = 0;
    }
    parts_.push_back({data, bytes});
  }
  bool over() const { return at_ == parts_.size(); }

  // One system call. False when the kernel has neither data nor room.
  bool send(int file, const TcpMethod& method, int flags) {
    flags |= MSG_NOSIGNAL;
    const msghdr message = next(method);
    if (message.msg_iovlen > 1) return moved(sendmsg(file, &message, flags));
    const iovec& part = parts_[at_];  // the cheaper call
    return moved(::send(file, part.iov_base, std::min(part.iov_len, method.most_bytes), flags));
  }
  bool receive(int file, const TcpMethod& method, int flags) {
    msghdr message = next(method);
    const iovec& part = parts_[at_];
    const ssize_t count =
        message.msg_iovlen > 1
            ? recvmsg(file, &message, flags)
            : recv(file, part.iov_base, std::min(part.iov_len, method.most_bytes), flags);
    if (count == 0) throw std::runtime_error(kConnectionClosed);
    return moved(count);
  }

 private:
  msghdr next(const TcpMethod& method) {
    msghdr message{};
    message.msg_iov = &parts_[at_];
    const std::size_t most = std::min(method.together ? kMostParts : 1, parts_.size() - at_);
    std::size_t bytes = 0;
    do bytes += parts_[at_ + message.msg_iovlen++].iov_len;
    while (message.msg_iovlen < most && bytes < method.most_bytes);
    return message;
  }

  bool moved(ssize_t count) {
    if (count < 0) {
      if (errno == EAGAIN || errno == EINTR) return false;
      throw stream_error("TCP");
    }
    auto left = static_cast<std::size_t>(count);
    while (left > 0) {
      iovec& part = parts_[at_];
      const std::size_t taken = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + taken;
      part.iov_len -= taken;
      left -= taken;
      if (part.iov_len == 0) ++at_;
    }
    return true;
  }

  std::vector<iovec> parts_;
  std::size_t at_ = 0;
};

class TcpTransport final : public Transport {
 public:
  TcpTransport(const Messages& messages, const TcpMethod& method, std::vector<int> files,
               const Buffers& buffers, Wait wait, double patience_s)
      : messages_(messages),
        method_(method),
        files_(std::move(files)),
        out_(buffers.out),
        in_(buffers.in),
        wait_(wait),
        patience_s_(patience_s),
        sending_(files_.size()),
        receiving_(files_.size()) {}

  void begin_send(std::size_t slot, std::size_t bytes) override {
    prepare(sending_, messages_.first(), sent_++, bytes == 0 ? &nothing_ : out_.slot(slot), bytes);
    if (method_.together) return;
    for (std::size_t lane = 0; lane < files_.size(); ++lane)
      while (!sending_[lane].over() && sending_[lane].send(files_[lane], method_, MSG_DONTWAIT)) {
      }
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    prepare(receiving_, !messages_.first(), received_++, bytes == 0 ? &nothing_ : in_.slot(slot),
            bytes);
  }

  void finish() override {
    while (true) {
      std::size_t open = 0;
      for (std::size_t lane = 0; lane < files_.size(); ++lane)
        open += (sending_[lane].over() ? 0 : 1) + (receiving_[lane].over() ? 0 : 1);
      if (open == 0) return;
      // With one thing left to do the kernel may put this process to sleep over it.
      const bool sleeps = method_.idle == Idle::kSleeps && open == 1;
      bool moved = false;
      for (std::size_t lane = 0; lane < files_.size(); ++lane) {
        if (!sending_[lane].over())
          moved |= sending_[lane].send(files_[lane], method_, sleeps ? 0 : MSG_DONTWAIT);
        if (!receiving_[lane].over())
          moved |=
              receiving_[lane].receive(files_[lane], method_, sleeps ? MSG_WAITALL : MSG_DONTWAIT);
      }
      if (moved)
        idle_ = 0;
      else
        idle();
    }
  }

 private:
  // Messages go to the connections in turn; where they are fewer than the connections, each goes in
  // equal parts over all. Or all go to their sender's connection. An empty one is a byte: TCP shows
  // no less.
  void prepare(std::vector<Cursor>& cursors, bool from_first, std::uint64_t number, char* data,
               std::size_t bytes) {
    const std::size_t lanes = cursors.size();
    if (method_.own_ways)
      return cursors[from_first ? 0 : 1].add(data, std::max<std::size_t>(bytes, 1));
    if (messages_.window >= lanes || bytes < lanes)
      return cursors[number % lanes].add(data, std::max<std::size_t>(bytes, 1));
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t begin = bytes * lane / lanes;
      cursors[lane].add(data + begin, bytes * (lane + 1) / lanes - begin);
    }
  }

  void idle() {
    heard_nothing();
    if (method_.idle != Idle::kSleeps) wait_once(wait_);
    if (method_.idle == Idle::kAsks) return;
    polled_.clear();
    for (std::size_t lane = 0; lane < files_.size(); ++lane) {
      const int events =
          (sending_[lane].over() ? 0 : POLLOUT) | (receiving_[lane].over() ? 0 : POLLIN);
      polled_.push_back({events == 0 ? -1 : files_[lane], static_cast<short>(events), 0});
    }
    constexpr double kMostMs = std::numeric_limits<int>::max();
    const int limit_ms =
        method_.idle == Idle::kSleeps ? static_cast<int>(std::min(patience_s_ * 1e3, kMostMs)) : 0;
    while (poll(polled_.data(), polled_.size(), limit_ms) == 0) {
      if (limit_ms > 0) silent();
      heard_nothing();
      wait_once(wait_);
    }
  }

  void heard_nothing() {
    constexpr std::uint64_t kLook = 1 << 16;  // the clock is looked at so seldom
    if (++idle_ == 1) return;
    if (idle_ % kLook != 0) return;
    const std::int64_t now = now_ns();
    if (idle_ == kLook) idle_since_ = now;
    if (static_cast<double>(now - idle_since_) > patience_s_ * 1e9) silent();
  }
  [[noreturn]] static void silent() { throw std::runtime_error("another rank has fallen silent"); }

  const Messages messages_;
  const TcpMethod method_;
  const std::vector<int> files_;
  const SlotBuffer& out_;
  const SlotBuffer& in_;
  const Wait wait_;
  const double patience_s_;
  std::vector<Cursor> sending_;
  std::vector<Cursor> receiving_;
  std::vector<pollfd> polled_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t idle_ = 0;  // times that nothing has moved, in succession
  std::int64_t idle_since_ = 0;
  char nothing_ = 0;
};

}  // namespace

bool TcpMethod::applies(const Messages& messages) const {
  if (messages.bytes < smallest) return false;
  if (own_ways) return messages.sends && messages.receives;
  return !together || messages.window > 1;  // a message alone is together with none
}

const std::vector<TcpMethod>& tcp_methods() {
  constexpr std::size_t kChunk = std::size_t{512} << 10;   // read while it is still in the caches
  constexpr std::size_t kStreams = std::size_t{16} << 10;  // smaller ones are not worth a second
  constexpr std::size_t kAny = TcpMethod::kAnySize;
  static const std::vector<TcpMethod> all{
      // Where there is a core for each process only now and then.
      {.name = "blocking", .idle = Idle::kSleeps, .most_bytes = kChunk},
      {.name = "spin", .most_bytes = kAny},
      {.name = "batched", .together = true, .most_bytes = kChunk},
      {.name = "buffers-4M", .most_bytes = kChunk, .buffer = 4 << 20, .smallest = kStreams},
      {.name = "own-ways",
       .streams = 2,
       .own_ways = true,
       .idle = Idle::kPolls,
       .most_bytes = kChunk / 2,
       .smallest = kStreams},
      {.name = "streams-2",
       .streams = 2,
       .idle = Idle::kPolls,
       .most_bytes = kChunk,
       .smallest = kStreams},
      {.name = "streams-4",
       .streams = 4,
       .idle = Idle::kPolls,
       .most_bytes = kChunk / 2,
       .smallest = kStreams}};
  return all;
}

std::vector<int> tcp_buffers(const std::vector<TcpMethod>& methods) {
  std::vector<int> all;
  for (const TcpMethod& method : methods) {
    const auto have = std::count(all.begin(), all.end(), method.buffer);
    all.insert(all.end(), std::max<std::ptrdiff_t>(0, method.streams - have), method.buffer);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::unique_ptr<Transport> tcp_transport(const Messages& messages, const TcpMethod& method,
                                         std::vector<int> files, const Buffers& buffers, Wait wait,
                                         double patience_s) {
  return std::make_unique<TcpTransport>(messages, method, std::move(files), buffers, wait,
                                        patience_s);
}

}  // namespace nearpeak
