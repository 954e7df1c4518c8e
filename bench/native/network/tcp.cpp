// SPDX-License-Identifier: Apache-2.0
#include "native/tcp.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "native/process.hpp"
#include "options/launched.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kAnySize = ~std::size_t{0};
constexpr std::size_t kMostParts = 1024;  // IOV_MAX of Linux
constexpr double kStall = 60;  // seconds without a finished exchange, beyond what one may take

// Where one direction of one connection stands in the messages of a window.
class Cursor {
 public:
  void clear() {
    parts_.clear();
    at_ = 0;
  }
  void add(char* data, std::size_t bytes) { parts_.push_back({data, bytes}); }
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
    if (count == 0) throw std::runtime_error("the other end has closed its connection");
    return moved(count);
  }

 private:
  msghdr next(const TcpMethod& method) {
    msghdr message{};
    message.msg_iov = &parts_[at_];
    const std::size_t most = std::min(method.most_parts, parts_.size() - at_);
    std::size_t bytes = 0;
    do bytes += parts_[at_ + message.msg_iovlen++].iov_len;
    while (message.msg_iovlen < most && bytes < method.most_bytes);
    return message;
  }

  bool moved(ssize_t count) {
    if (count < 0) {
      if (errno == EAGAIN || errno == EINTR) return false;
      throw std::runtime_error(std::string("TCP: ") + std::strerror(errno));
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

// The connections that a method uses, of those of the path.
std::vector<int> buffers_of(const std::vector<TcpMethod>& methods) {
  std::vector<int> all;
  for (const TcpMethod& method : methods) {
    const auto have = std::count(all.begin(), all.end(), method.buffer);
    all.insert(all.end(), std::max<std::ptrdiff_t>(0, method.streams - have), method.buffer);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<int> files_for(const TcpMethod& method, const Connections& connections,
                           const std::vector<int>& buffers) {
  std::vector<int> files;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i] == method.buffer && files.size() < static_cast<std::size_t>(method.streams))
      files.push_back(connections.streams[i].file());
  return files;
}

class TcpTransfer final : public Transfer {
 public:
  TcpTransfer(const Exchange& exchange, const TcpMethod& method, std::vector<int> files,
              const SlotBuffer& out, const SlotBuffer& in, Wait wait)
      : exchange_(exchange),
        method_(method),
        files_(std::move(files)),
        out_(out),
        in_(in),
        wait_(wait),
        slots_(exchange),
        sending_(files_.size()),
        receiving_(files_.size()) {}

  void iterate(std::uint64_t n) override {
    const bool first = exchange_.rank == 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      switch (exchange_.pattern) {
        case Pattern::kPingPong:
          exchange(first, !first);
          exchange(!first, first);
          break;
        case Pattern::kOneWay:
          exchange(first, !first);
          token(!first, first);
          break;
        case Pattern::kBothWays:
          exchange(true, true);
          token(true, true);
          break;
        case Pattern::kAlone:
          break;
      }
      slots_.next();
    }
  }

 private:
  // A window of messages. An empty message is a byte: TCP shows no less.
  void exchange(bool sends, bool receives) {
    if (exchange_.bytes == 0) return token(sends, receives);
    prepare(sending_, sends ? &out_ : nullptr, exchange_.rank);
    prepare(receiving_, receives ? &in_ : nullptr, exchange_.peer());
    progress();
  }

  // A byte that says: I have everything.
  void token(bool sends, bool receives) {
    for (auto* cursors : {&sending_, &receiving_})
      for (Cursor& cursor : *cursors) cursor.clear();
    if (sends) sending_[0].add(&token_out_, 1);
    if (receives) receiving_[0].add(&token_in_, 1);
    progress();
  }

  // Messages go to the connections in turn; where they are fewer than the connections, each goes in
  // equal parts over all. Or all go to their sender's connection.
  void prepare(std::vector<Cursor>& cursors, const SlotBuffer* slots, int sender) {
    for (Cursor& cursor : cursors) cursor.clear();
    if (slots == nullptr) return;
    const std::size_t lanes = method_.own_ways ? 1 : cursors.size();
    const std::size_t bytes = exchange_.bytes;
    for (std::uint64_t m = 0; m < exchange_.window; ++m) {
      char* slot = slots->slot(slots_.first() + m);
      if (exchange_.window >= lanes) {
        cursors[method_.own_ways ? sender : m % lanes].add(slot, bytes);
        continue;
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t begin = bytes * lane / lanes;
        const std::size_t end = bytes * (lane + 1) / lanes;
        if (end > begin) cursors[lane].add(slot + begin, end - begin);
      }
    }
  }

  // Until all that is prepared has gone out and come in.
  void progress() {
    while (true) {
      bool moved = false;
      std::size_t open = 0;
      for (std::size_t lane = 0; lane < files_.size(); ++lane)
        open += (sending_[lane].over() ? 0 : 1) + (receiving_[lane].over() ? 0 : 1);
      if (open == 0) return;
      // With one thing left to do the kernel may put this process to sleep over it.
      const bool sleeps = method_.idle == Idle::kSleeps && open == 1;
      for (std::size_t lane = 0; lane < files_.size(); ++lane) {
        if (!sending_[lane].over())
          moved |= sending_[lane].send(files_[lane], method_, sleeps ? 0 : MSG_DONTWAIT);
        if (!receiving_[lane].over())
          moved |=
              receiving_[lane].receive(files_[lane], method_, sleeps ? MSG_WAITALL : MSG_DONTWAIT);
      }
      if (moved) continue;
      idle();
    }
  }

  void idle() {
    if (method_.idle != Idle::kSleeps) wait_.once();
    if (method_.idle == Idle::kAsks) return;
    std::vector<pollfd>& waiting = polled_;
    waiting.clear();
    for (std::size_t lane = 0; lane < files_.size(); ++lane) {
      const int events =
          (sending_[lane].over() ? 0 : POLLOUT) | (receiving_[lane].over() ? 0 : POLLIN);
      waiting.push_back({events == 0 ? -1 : files_[lane], static_cast<short>(events), 0});
    }
    const int limit_ms = method_.idle == Idle::kSleeps ? -1 : 0;
    while (poll(waiting.data(), waiting.size(), limit_ms) == 0) wait_.once();
  }

  Exchange exchange_;
  TcpMethod method_;
  std::vector<int> files_;
  const SlotBuffer& out_;
  const SlotBuffer& in_;
  Wait wait_;
  Slots slots_;
  std::vector<Cursor> sending_;
  std::vector<Cursor> receiving_;
  std::vector<pollfd> polled_;
  char token_out_ = 1;
  char token_in_ = 0;
};

bool applies(const TcpMethod& method, const Exchange& exchange) {
  if (exchange.bytes < method.smallest || exchange.bytes > method.largest) return false;
  if (method.own_ways) return exchange.pattern == Pattern::kBothWays;
  // A message alone cannot be batched.
  return exchange.window > 1 || method.most_parts == 1 || exchange.bytes > method.most_bytes;
}

// Throws BadInput while there is but one process to say so.
void check_sizes(const CommonOptions& common) {
  common.ordered_sizes();
  common.window_at(1);
}

int run_end(const TcpOptions& options, const std::vector<TcpMethod>& methods,
            const Connections& connections, int rank, Wait wait,
            const std::function<void()>& exchange_done) {
  const auto buffers = buffers_of(methods);
  SocketTeam team(connections.control, rank);
  Contest contest(team, "tcp", options.common, options.probe);
  contest.open();
  for (const Metric& metric : options.metrics)
    for (const std::size_t bytes : options.common.ordered_sizes()) {
      if (bytes == 0 && metric.name != "latency") continue;  // nothing has no bandwidth
      const Exchange exchange = make_exchange(metric, bytes, options.common, rank);
      SlotBuffer out(host_memory(), exchange.sends() ? bytes : 0, exchange.slots());
      SlotBuffer in(host_memory(), exchange.receives() ? bytes : 0, exchange.slots());
      out.fill_pattern(exchange.seed(rank));
      in.fill_inverse(exchange.seed(exchange.peer()));
      std::vector<Candidate> candidates;
      for (const TcpMethod& method : methods)
        if (applies(method, exchange))
          candidates.push_back({method.name, [&] {
                                  return std::make_unique<TcpTransfer>(
                                      exchange, method, files_for(method, connections, buffers),
                                      out, in, wait);
                                }});
      contest.run(exchange, in, candidates);
      exchange_done();
    }
  return contest.status();
}

class TcpMode final : public Mode {
 public:
  TcpMode()
      : Mode({"tcp",
              "two processes through TCP sockets: one or several connections, sleeping or busy, "
              "messages sent one by one or together",
              pair_metrics(),
              {{"reuse", {"fixed", "rotating"}}}}) {}

  void add_options(CLI::App& app) override {
    options_.common.add_to(app);
    app.add_option("--cpus", cpus_, "both processes are started here, on these two CPUs: 0,1");
    app.add_option("--address", options_.address, "where they meet: an address of this host")
        ->default_val("127.0.0.1");
    app.add_option("--peer", options_.peer,
                   "a launcher has started this process, as one of two ranks: the host of rank 0");
    app.add_option("--port", options_.port, "where rank 0 listens, with --peer")
        ->check(CLI::Range(1, 65535));
    app.add_option("--metrics", metrics_, "only these: latency,bw,bibw");
    app.add_option("--methods", methods_, "only these: see the records");
    app.add_flag("!--no-probe", options_.probe, "leave out the drift probe");
  }

  int run() override {
    options_.metrics = chosen(metrics_, pair_metrics(), "metric");
    const auto methods = chosen(methods_, tcp_methods(), "method");
    if (cpus_.empty() == options_.peer.empty())
      throw BadInput(
          "tcp needs --cpus A,B to start both processes here, or --peer HOST --port N under a "
          "launcher of two ranks");
    if (!options_.peer.empty()) return run_tcp_launched(options_, methods);
    options_.cpus = parse_cpus(cpus_);
    return run_tcp_forked(options_, methods);
  }

 private:
  TcpOptions options_;
  std::string cpus_;
  std::string metrics_;
  std::string methods_;
};

TcpMode mode;
const RegisterMode entry(mode);

}  // namespace

const std::vector<TcpMethod>& tcp_methods() {
  constexpr std::size_t kChunk = std::size_t{512} << 10;   // read while it is still in the caches
  constexpr std::size_t kStreams = std::size_t{16} << 10;  // smaller ones are not worth a second
  constexpr int kLargeBuffer = 4 << 20;                    // what a long path needs
  static const std::vector<TcpMethod> all{
      {"blocking", 1, false, Idle::kSleeps, 1, kAnySize, 0, 0, kChunk},
      {"spin", 1, false, Idle::kAsks, 1, kAnySize, 0, 0, kChunk},
      {"batched", 1, false, Idle::kAsks, kMostParts, kChunk, 0, 0, kAnySize},
      {"batched-blocking", 1, false, Idle::kSleeps, kMostParts, kChunk, 0, kStreams, kChunk},
      {"buffers-4M", 1, false, Idle::kAsks, 1, kChunk, kLargeBuffer, kStreams, kAnySize},
      {"own-ways", 2, true, Idle::kPolls, kMostParts, kChunk, 0, kStreams, kAnySize},
      {"streams-2", 2, false, Idle::kPolls, kMostParts, kChunk, 0, kStreams, kAnySize},
      {"streams-4", 4, false, Idle::kPolls, kMostParts, kChunk / 2, 0, kStreams, kAnySize}};
  return all;
}

int run_tcp_forked(const TcpOptions& options, const std::vector<TcpMethod>& methods) {
  if (options.cpus.size() != 2)
    throw BadInput("--cpus of tcp needs two CPUs, one for each process: --cpus 0,1");
  check_sizes(options.common);
  check_cpus(options.cpus);
  const Socket listener = listen_on(options.address, 0);
  check_writable(options.common.jsonl);
  const int port = port_of(listener);
  const auto buffers = buffers_of(methods);
  SharedMemory shared(sizeof(Counter));
  auto& progress = (new (shared.data()) Counter)->value;
  const Wait wait{options.cpus[0] == options.cpus[1]};
  const double stall_s = kStall + 2 * options.common.limit_s * static_cast<double>(methods.size());
  return run_processes(2, progress, stall_s, [&](int rank) {
    bind_to_cpu(options.cpus[rank]);
    const Connections connections = rank == 0 ? accept_connections(listener, buffers)
                                              : make_connections(options.address, port, buffers);
    return run_end(options, methods, connections, rank, wait, [&] { ++progress; });
  });
}

int run_tcp_launched(const TcpOptions& options, const std::vector<TcpMethod>& methods) {
  const int rank = launched_rank_of_two("tcp");
  if (options.port == 0) throw BadInput("tcp --peer needs --port N, the same on both ranks");
  check_sizes(options.common);
  const auto buffers = buffers_of(methods);
  Connections connections;
  if (rank == 0) {
    const Socket listener = listen_on("", options.port);
    check_writable(options.common.jsonl);
    connections = accept_connections(listener, buffers);
  } else {
    connections = make_connections(options.peer, options.port, buffers);
  }
  return run_end(options, methods, connections, rank, Wait{}, [] {});
}

}  // namespace nearpeak
