// SPDX-License-Identifier: Apache-2.0
#include "group/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "options/options.hpp"

namespace nearpeak {
namespace {

// The first thing on each connection, so that a stranger's is not taken for a member's.
struct Hello {
  char magic[12] = {'n', 'e', 'a', 'r', 'p', 'e', 'a', 'k', '-', 't', 'c', 'p'};
  std::uint32_t index;  // the rank, or, from kStreams on, which of the streams
};
constexpr std::uint32_t kStreams = 1 << 20;

constexpr int kHelloSeconds = 5;
constexpr int kRetryMs = 50;

std::runtime_error socket_error(const std::string& what) {
  return std::runtime_error(what + ": " + std::strerror(errno));
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

// Waits for whoever says hello as one that place_of() knows, and puts it there; nullptr is a
// stranger. What is accepted has the listener's buffers.
template <class PlaceOf>
void accept_one(const Socket& listener, Clock::time_point end, double patience_s,
                PlaceOf place_of) {
  while (true) {
    pollfd waiting{listener.file(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0)
      throw std::runtime_error("another rank has not connected within " +
                               std::to_string(kConnectSeconds) + " s");
    Socket made(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    if (made.file() < 0) continue;
    set_timeouts(made.file(), kHelloSeconds);
    Hello hello;
    try {
      receive_all(made.file(), &hello, sizeof hello);
    } catch (const std::runtime_error&) {
      continue;
    }
    Socket* const place = std::memcmp(hello.magic, Hello{}.magic, sizeof hello.magic) == 0
                              ? place_of(hello.index)
                              : nullptr;
    if (place == nullptr || place->file() >= 0) continue;
    set_option(made.file(), IPPROTO_TCP, TCP_NODELAY, 1);
    send_all(made.file(), &hello, sizeof hello);
    set_timeouts(made.file(), patience_s);
    *place = std::move(made);
    return;
  }
}

Socket connect_one(const std::string& host, int port, std::uint32_t index, int buffer,
                   Clock::time_point end, double patience_s) {
  std::string error = "no answer";
  for (; Clock::now() < end; poll(nullptr, 0, kRetryMs)) {
    Socket made = try_connect(host, port, buffer, error);
    if (made.file() < 0) continue;
    set_option(made.file(), IPPROTO_TCP, TCP_NODELAY, 1);
    const Hello hello{.index = index};
    Hello answer{};
    try {
      send_all(made.file(), &hello, sizeof hello);
      receive_all(made.file(), &answer, sizeof answer);
    } catch (const std::runtime_error& lost) {
      error = lost.what();
      continue;
    }
    if (std::memcmp(&answer, &hello, sizeof hello) != 0)
      throw std::runtime_error(host + ", port " + std::to_string(port) +
                               " is not another nearpeak-native");
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
