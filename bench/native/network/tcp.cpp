// SPDX-License-Identifier: Apache-2.0
#include "native/network/tcp.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "group/socket.hpp"
#include "native/process.hpp"
#include "options/launched.hpp"

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

// The connections that the methods use, of those of the path: the bytes of their buffers.
std::vector<int> buffers_of(const std::vector<TcpMethod>& methods) {
  std::vector<int> all;
  for (const TcpMethod& method : methods) {
    const auto have = std::count(all.begin(), all.end(), method.buffer);
    all.insert(all.end(), std::max<std::ptrdiff_t>(0, method.streams - have), method.buffer);
  }
  std::sort(all.begin(), all.end());
  return all;
}

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
    const int limit_ms = method_.idle == Idle::kSleeps ? static_cast<int>(patience_s_ * 1e3) : 0;
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

bool applies(const TcpMethod& method, const Messages& messages) {
  if (messages.bytes < method.smallest) return false;
  if (method.own_ways) return messages.sends && messages.receives;
  return !method.together || messages.window > 1;  // a message alone is together with none
}

int run_end(const TcpOptions& options, const std::vector<TcpMethod>& methods, Group& group,
            const std::vector<const Benchmark*>& asked, const std::vector<Socket>& streams,
            Wait wait) {
  const auto buffers = buffers_of(methods);
  const auto files_for = [&](const TcpMethod& method) {
    std::vector<int> files;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i] == method.buffer && files.size() < static_cast<std::size_t>(method.streams))
        files.push_back(streams[i].file());
    return files;
  };
  Runner runner(group, options.common, options.naming());
  open_records(runner, "tcp");
  Ground ground;
  ground.methods = [&](const CaseContext&, const Messages& messages, const Buffers& both) {
    std::vector<Method> some;
    for (const TcpMethod& method : methods)
      if (applies(method, messages))
        some.push_back({.name = method.name,
                        .buffers = both,
                        .unavailable = "",
                        .make =
                            [&, both] {
                              return std::make_unique<TcpTransport>(
                                  messages, method, files_for(method), both, wait,
                                  options.stall_s(methods.size()));
                            },
                        .needs = method.together ? std::vector<std::string>{"window"}
                                                 : std::vector<std::string>{}});
    return some;
  };
  for_each_case(runner, options, ground, asked,
                [&](const Benchmark& benchmark, const CaseContext& context) {
                  runner.run(benchmark, context);
                });
  return runner.status();
}

class TcpMode final : public Mode {
 public:
  TcpMode()
      : Mode("tcp",
             "two processes through TCP sockets: one or several connections, sleeping or busy") {}

  std::vector<Metric> metrics() const override { return transport_metrics(); }
  void add_options(CLI::App& app) override {
    options_.add_plateau(app);
    options_.add_to(app, "latency,bw,bibw (the usual ones), mbw_mr, multi_lat",
                    "start both processes here, on these two CPUs: 0,1");
    app.add_option("--address", options_.address, "where they meet: an address of this host")
        ->capture_default_str();
    app.add_option("--peer", options_.peer,
                   "a launcher has started this process, as one of two ranks: the host of rank 0");
    app.add_option("--port", options_.port, "where rank 0 listens, with --peer")
        ->check(CLI::Range(1, 65535));
  }
  int run() override { return run_tcp(options_, tcp_methods()); }

 private:
  TcpOptions options_;
};

const RegisterMode<TcpMode> mode;

}  // namespace

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

int run_tcp(const TcpOptions& options, std::vector<TcpMethod> methods) {
  choose(options.methods, methods);
  const auto asked = transport_benchmarks(options, 2);
  if (options.cpus.empty() == options.peer.empty())
    throw BadInput(
        "tcp needs --cpus A,B to start both processes here, or --peer HOST --port N under a "
        "launcher of two ranks");
  const auto buffers = buffers_of(methods);
  const double patience_s = options.stall_s(methods.size());

  if (!options.peer.empty()) {
    const int rank = launched_rank_of_two("tcp");
    if (options.port == 0) throw BadInput("tcp --peer needs --port N, the same on both ranks");
    if (rank != kLeaderRank) {
      SocketGroup group(options.peer, options.port, rank, 2, patience_s);
      const auto streams = connect_streams(options.peer, options.port, buffers, patience_s);
      return run_end(options, methods, group, asked, streams, Wait::kPause);
    }
    const Socket listener = listen_on("", options.port);
    options.check();
    SocketGroup group(listener, 2, patience_s);
    const auto streams = accept_streams(listener, buffers, patience_s);
    return run_end(options, methods, group, asked, streams, Wait::kPause);
  }

  if (options.cpus.size() != 2)
    throw BadInput("--cpus of tcp needs two CPUs, one for each process: --cpus 0,1");
  check_cpus(options.cpus);
  const Socket listener = listen_on(options.address, 0);
  options.check();
  return run_group(options.cpus, patience_s, [&](SharedGroup& group) {
    const auto streams =
        group.leads() ? accept_streams(listener, buffers, patience_s)
                      : connect_streams(options.address, port_of(listener), buffers, patience_s);
    return run_end(options, methods, group, asked, streams, group.wait());
  });
}

}  // namespace nearpeak
