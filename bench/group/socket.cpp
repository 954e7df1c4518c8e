// SPDX-License-Identifier: Apache-2.0
#include "group/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <stdexcept>

#include "group/siphash.hpp"
#include "options/options.hpp"

namespace nearpeak {
namespace {

// Who connects says who he is and a number of his own; who listens answers with one of his, and a
// proof over all of it that needs the key of the launch; so does the first one then. Only after
// that is he taken for a member, and told so by a byte.
struct Hello {
  char magic[12] = {'n', 'e', 'a', 'r', 'p', 'e', 'a', 'k', '-', 't', 'c', 'p'};
  std::uint32_t index;  // the rank, or, from kStreams on, which of the streams
  std::uint64_t number;
};
struct Answer {
  std::uint64_t number;
  std::uint64_t proof;
};
constexpr std::uint32_t kStreams = 1 << 20;
constexpr char kTaken = '!';
enum class SocketEnd : unsigned char { kConnects = 'c', kListens = 'l' };

constexpr int kHelloSeconds = 5;
constexpr int kRetryMs = 50;
constexpr std::size_t kMostGuests = 64;  // that have not proved anything yet: then the first goes

std::runtime_error socket_error(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
}

// Of NEARPEAK_TOKEN, which a study makes up for each launch: 32 hexadecimal digits. Zeros without
// it, as where somebody starts both ends by hand.
HashKey launch_key() {
  HashKey key{};
  const char* const token = std::getenv("NEARPEAK_TOKEN");
  if (token == nullptr || *token == '\0') return key;
  const std::string text = token;
  if (text.size() != 2 * key.size() ||
      text.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw BadInput("NEARPEAK_TOKEN is no 32 hexadecimal digits: unset it");
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return key;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getentropy(&number, sizeof number) != 0) throw socket_error("getentropy");
  return number;
}

std::uint64_t proof_of(SocketEnd side, const Hello& hello, std::uint64_t number) {
  const HashKey key = launch_key();
  std::array<unsigned char, 1 + sizeof hello.index + 2 * sizeof number> text{};
  text[0] = static_cast<unsigned char>(side);
  std::memcpy(text.data() + 1, &hello.index, sizeof hello.index);
  std::memcpy(text.data() + 1 + sizeof hello.index, &hello.number, sizeof hello.number);
  std::memcpy(text.data() + 1 + sizeof hello.index + sizeof number, &number, sizeof number);
  return siphash(key, text.data(), text.size());
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Null, with `error` set, where the name has no address.
Addresses resolve(const std::string& host, int port, int flags, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                               &hints, &found);
  if (code != 0) error = gai_strerror(code);
  return {found, freeaddrinfo};
}

void set_option(int file, int level, int name, int value) {
  if (setsockopt(file, level, name, &value, sizeof value) != 0) throw socket_error("setsockopt");
}

void set_timeouts(int file, double seconds) {
  const auto us = static_cast<std::int64_t>(seconds * 1e6);
  const timeval limit{us / 1'000'000, us % 1'000'000};
  setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void set_buffers(int file, int bytes) {
  if (bytes == 0) return;
  set_option(file, SOL_SOCKET, SO_SNDBUF, bytes);
  set_option(file, SOL_SOCKET, SO_RCVBUF, bytes);
}

using Clock = std::chrono::steady_clock;
Clock::time_point deadline() { return Clock::now() + std::chrono::seconds(kConnectSeconds); }

// One attempt; no socket where it failed.
Socket try_connect(const std::string& host, int port, int buffer, std::string& error) {
  const Addresses addresses = resolve(host, port, 0, error);
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Socket made(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made.file() < 0) continue;
    set_timeouts(made.file(), kHelloSeconds);
    set_buffers(made.file(), buffer);
    if (connect(made.file(), at->ai_addr, at->ai_addrlen) == 0) return made;
    error = std::strerror(errno);
  }
  return Socket();
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  return address.sa_family == AF_INET && ntohl(four.sin_addr.s_addr) >> 24 == 127;
}

// Whether it is an address of this host: another port of it can be bound.
bool is_bound_here(const addrinfo& at) {
  Socket made(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage any_port{};
  std::memcpy(&any_port, at.ai_addr, at.ai_addrlen);
  if (at.ai_family == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(any_port).sin6_port = 0;
  else
    reinterpret_cast<sockaddr_in&>(any_port).sin_port = 0;
  return made.file() >= 0 &&
         bind(made.file(), reinterpret_cast<const sockaddr*>(&any_port), at.ai_addrlen) == 0;
}

}  // namespace

Socket::~Socket() {
  if (file_ >= 0) close(file_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Socket listen_on(const std::string& address, int port) {
  std::string error;
  const Addresses addresses = resolve(address, port, AI_PASSIVE, error);
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Socket made(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (made.file() < 0) continue;
    set_option(made.file(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(made.file(), at->ai_addr, at->ai_addrlen) == 0 && listen(made.file(), 64) == 0)
      return made;
    error = std::strerror(errno);
  }
  throw BadInput("cannot listen on " + (address.empty() ? std::string("any address") : address) +
                 ", port " + std::to_string(port) + ": " + error +
                 ": give an address of this host and a free port");
}

Socket listen_as(const std::string& peer, int port) {
  std::string error;
  const Addresses addresses = resolve(peer, port, 0, error);
  const bool only_here =
      peer == "localhost" || (peer.find_first_not_of("0123456789.") == std::string::npos) ||
      peer.find(':') != std::string::npos;  // a number, or what everybody calls it
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next)
    if (is_bound_here(*at) && (only_here || !is_loopback(*at->ai_addr)))
      return listen_on(peer, port);
  return listen_on("", port);
}

int port_of(const Socket& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(listener.file(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw socket_error("getsockname");
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::runtime_error stream_error(const std::string& what) {
  if (errno == EPIPE || errno == ECONNRESET) return std::runtime_error(kConnectionClosed);
  if (errno == EAGAIN) return std::runtime_error("another rank has fallen silent");
  return socket_error(what);
}

void send_all(int file, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = send(file, from, bytes, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw stream_error("send");
    from += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void receive_all(int file, void* data, std::size_t bytes) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = recv(file, to, bytes, MSG_WAITALL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw stream_error("recv");
    if (count == 0) throw std::runtime_error(kConnectionClosed);
    to += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

namespace {

// One who has connected, until he has proved that he is a member.
class Guest {
 public:
  explicit Guest(Socket socket)
      : socket_(std::move(socket)), end_(Clock::now() + std::chrono::seconds(kHelloSeconds)) {}

  int file() const { return socket_.file(); }
  Clock::time_point end() const { return end_; }
  Socket& socket() { return socket_; }

  enum class State { kWaits, kProved, kStranger };
  // What has come is read, without waiting for more. `expected`: whether the index is that of
  // somebody who is missing.
  template <class Expected>
  State read(const Expected& expected) {
    while (true) {
      const std::size_t whole = answered_ ? sizeof proof_ : sizeof hello_;
      char* const to =
          answered_ ? reinterpret_cast<char*>(&proof_) : reinterpret_cast<char*>(&hello_);
      const ssize_t count = recv(file(), to + got_, whole - got_, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::kWaits;
      if (count <= 0) return State::kStranger;
      got_ += static_cast<std::size_t>(count);
      if (got_ < whole) continue;
      if (answered_)
        return proof_ == proof_of(SocketEnd::kConnects, hello_, number_) ? State::kProved
                                                                         : State::kStranger;
      if (std::memcmp(hello_.magic, Hello{}.magic, sizeof hello_.magic) != 0 ||
          !expected(hello_.index))
        return State::kStranger;
      const Answer answer{number_, proof_of(SocketEnd::kListens, hello_, number_)};
      send_all(file(), &answer, sizeof answer);  // no more than the empty socket holds
      answered_ = true;
      got_ = 0;
    }
  }
  std::uint32_t index() const { return hello_.index; }

 private:
  Socket socket_;
  Clock::time_point end_;
  Hello hello_{};
  std::uint64_t proof_ = 0;
  const std::uint64_t number_ = random_number();
  bool answered_ = false;
  std::size_t got_ = 0;  // bytes of what is read now
};

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Waits for a member that place_of() knows, and puts it there; nullptr is a stranger. Many may be
// greeted at a time. What is accepted has the listener's buffers.
template <class PlaceOf>
void accept_one(const Socket& listener, Clock::time_point end, double patience_s,
                PlaceOf place_of) {
  const auto expected = [&](std::uint32_t index) {
    const Socket* const place = place_of(index);
    return place != nullptr && place->file() < 0;
  };
  std::list<Guest> guests;
  while (true) {
    std::vector<pollfd> waiting{{listener.file(), POLLIN, 0}};
    Clock::time_point first = end;
    for (const Guest& guest : guests) {
      waiting.push_back({guest.file(), POLLIN, 0});
      first = std::min(first, guest.end());
    }
    poll(waiting.data(), waiting.size(), milliseconds_until(first));
    if (Clock::now() >= end)
      throw std::runtime_error("another rank has not connected within " +
                               std::to_string(kConnectSeconds) + " s");
    for (auto guest = guests.begin(); guest != guests.end();) {
      Guest::State state = Guest::State::kStranger;
      try {
        if (guest->end() > Clock::now()) state = guest->read(expected);
      } catch (const std::runtime_error&) {  // he has gone
      }
      if (state == Guest::State::kProved) {
        Socket made = std::move(guest->socket());
        set_option(made.file(), IPPROTO_TCP, TCP_NODELAY, 1);
        send_all(made.file(), &kTaken, 1);
        set_timeouts(made.file(), patience_s);
        *place_of(guest->index()) = std::move(made);
        return;
      }
      guest = state == Guest::State::kStranger ? guests.erase(guest) : std::next(guest);
    }
    if ((waiting.front().revents & POLLIN) == 0) continue;
    Socket made(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    if (made.file() < 0) continue;
    set_timeouts(made.file(), kHelloSeconds);
    guests.emplace_back(std::move(made));
    if (guests.size() > kMostGuests) guests.pop_front();
  }
}

Socket connect_one(const std::string& host, int port, std::uint32_t index, int buffer,
                   Clock::time_point end, double patience_s) {
  std::string error = "no answer";
  for (; Clock::now() < end; poll(nullptr, 0, kRetryMs)) {
    Socket made = try_connect(host, port, buffer, error);
    if (made.file() < 0) continue;
    set_option(made.file(), IPPROTO_TCP, TCP_NODELAY, 1);
    const Hello hello{.index = index, .number = random_number()};
    Answer answer{};
    char taken = 0;
    try {
      send_all(made.file(), &hello, sizeof hello);
      receive_all(made.file(), &answer, sizeof answer);
      if (answer.proof != proof_of(SocketEnd::kListens, hello, answer.number))
        throw BadInput(host + ", port " + std::to_string(port) +
                       " is not another nearpeak-native of this launch");
      const std::uint64_t proof = proof_of(SocketEnd::kConnects, hello, answer.number);
      send_all(made.file(), &proof, sizeof proof);
      receive_all(made.file(), &taken, 1);
    } catch (const BadInput&) {
      throw;
    } catch (const std::runtime_error& lost) {
      error = lost.what();
      continue;
    }
    set_timeouts(made.file(), patience_s);
    return made;
  }
  throw std::runtime_error("cannot connect to " + host + ", port " + std::to_string(port) +
                           " within " + std::to_string(kConnectSeconds) + " s: " + error);
}

}  // namespace

std::vector<Socket> accept_streams(const Socket& listener, const std::vector<int>& buffers,
                                   double patience_s) {
  std::vector<Socket> all(buffers.size());
  const Clock::time_point end = deadline();
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    // The size of its buffers is agreed when a connection begins: they come in this order.
    set_buffers(listener.file(), buffers[i]);
    accept_one(listener, end, patience_s,
               [&](std::uint32_t index) { return index == kStreams + i ? &all[i] : nullptr; });
  }
  return all;
}

std::vector<Socket> connect_streams(const std::string& host, int port,
                                    const std::vector<int>& buffers, double patience_s) {
  std::vector<Socket> all;
  const Clock::time_point end = deadline();
  for (std::uint32_t i = 0; i < buffers.size(); ++i)
    all.push_back(connect_one(host, port, kStreams + i, buffers[i], end, patience_s));
  return all;
}

SocketGroup::SocketGroup(const Socket& listener, int size, double patience_s)
    : rank_(kLeaderRank), size_(size), to_(static_cast<std::size_t>(size)) {
  const Clock::time_point end = deadline();
  for (int missing = size - 1; missing > 0; --missing)
    accept_one(listener, end, patience_s, [&](std::uint32_t index) {
      return index > 0 && index < to_.size() ? &to_[index] : nullptr;
    });
}

SocketGroup::SocketGroup(const std::string& host, int port, int rank, int size, double patience_s)
    : rank_(rank), size_(size), to_(1) {
  to_[0] = connect_one(host, port, static_cast<std::uint32_t>(rank), 0, deadline(), patience_s);
}

std::string SocketGroup::address_of(int rank) const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST];
  if (getpeername(to_[static_cast<std::size_t>(rank)].file(), reinterpret_cast<sockaddr*>(&address),
                  &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST) != 0)
    throw socket_error("getpeername");
  const std::string found = text;
  const std::string mapped = "::ffff:";  // an IPv4 address on an IPv6 socket
  return found.compare(0, mapped.size(), mapped) == 0 ? found.substr(mapped.size()) : found;
}

void SocketGroup::barrier() {
  char here = 0;
  std::vector<char> all(static_cast<std::size_t>(size_));
  gather(&here, 1, all.data());
}

void SocketGroup::broadcast(void* data, std::size_t bytes) {
  if (!leads()) return receive_all(to_[0].file(), data, bytes);
  for (std::size_t rank = 1; rank < to_.size(); ++rank) send_all(to_[rank].file(), data, bytes);
}

void SocketGroup::gather(const void* mine, std::size_t bytes, void* all) {
  const std::size_t whole = bytes * static_cast<std::size_t>(size_);
  if (!leads()) {
    send_all(to_[0].file(), mine, bytes);
  } else {
    std::memcpy(all, mine, bytes);
    for (std::size_t rank = 1; rank < to_.size(); ++rank)
      receive_all(to_[rank].file(), static_cast<char*>(all) + rank * bytes, bytes);
  }
  broadcast(all, whole);
}

}  // namespace nearpeak
