// SPDX-License-Identifier: Apache-2.0
#include "native/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace nearpeak {
namespace {

// The first thing on each connection, so that a stranger's is not taken for the other end's.
struct Hello {
  char magic[12] = {'n', 'e', 'a', 'r', 'p', 'e', 'a', 'k', '-', 't', 'c', 'p'};
  std::uint32_t index = 0;  // 0: control; then the payload connections
};

constexpr int kHelloSeconds = 5;
constexpr int kRetryMs = 50;
constexpr std::size_t kMostText = 1 << 20;

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

void set_timeouts(int file, int seconds) {
  const timeval limit{seconds, 0};
  setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void set_buffers(int file, int bytes) {
  if (bytes == 0) return;
  set_option(file, SOL_SOCKET, SO_SNDBUF, bytes);
  set_option(file, SOL_SOCKET, SO_RCVBUF, bytes);
}

// The size of its buffers is agreed when a connection begins, so they are set before.
int buffer_of(const std::vector<int>& buffers, std::uint32_t index) {
  return index == 0 ? 0 : buffers[index - 1];
}

Socket& place(Connections& all, std::uint32_t index) {
  return index == 0 ? all.control : all.streams[index - 1];
}

std::int64_t deadline() { return now_ns() + static_cast<std::int64_t>(kConnectSeconds * 1e9); }

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

std::string peer_of(const Socket& connection) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST];
  if (getpeername(connection.file(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST) != 0)
    throw socket_error("getpeername");
  const std::string found = text;
  const std::string mapped = "::ffff:";  // an IPv4 address on an IPv6 socket
  return found.compare(0, mapped.size(), mapped) == 0 ? found.substr(mapped.size()) : found;
}

Connections accept_connections(const Socket& listener, const std::vector<int>& buffers) {
  Connections all;
  all.streams.resize(buffers.size());
  const std::int64_t end = deadline();
  for (std::size_t missing = buffers.size() + 1; missing > 0;) {
    // What is accepted has the listener's buffers: the connections come in the order of `buffers`.
    const auto next = static_cast<std::uint32_t>(buffers.size() + 1 - missing);
    set_buffers(listener.file(), buffer_of(buffers, next));
    pollfd waiting{listener.file(), POLLIN, 0};
    const auto left_ms = static_cast<int>((end - now_ns()) / 1'000'000);
    if (left_ms <= 0 || poll(&waiting, 1, left_ms) == 0)
      throw std::runtime_error("the other rank has not connected within " +
                               std::to_string(static_cast<int>(kConnectSeconds)) + " s");
    Socket made(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    if (made.file() < 0) continue;
    set_timeouts(made.file(), kHelloSeconds);
    Hello hello;
    try {
      receive_all(made.file(), &hello, sizeof hello);
    } catch (const std::runtime_error&) {
      continue;
    }
    if (std::memcmp(hello.magic, Hello().magic, sizeof hello.magic) != 0 || hello.index != next)
      continue;
    set_timeouts(made.file(), 0);
    set_option(made.file(), IPPROTO_TCP, TCP_NODELAY, 1);
    send_all(made.file(), &hello, sizeof hello);
    place(all, next) = std::move(made);
    --missing;
  }
  return all;
}

Connections make_connections(const std::string& host, int port, const std::vector<int>& buffers) {
  Connections all;
  all.streams.resize(buffers.size());
  const std::int64_t end = deadline();
  std::string error = "no answer";
  for (std::uint32_t index = 0; index <= buffers.size();) {
    if (now_ns() > end)
      throw std::runtime_error("cannot connect to " + host + ", port " + std::to_string(port) +
                               ": " + error);
    Socket made = try_connect(host, port, buffer_of(buffers, index), error);
    if (made.file() < 0) {
      poll(nullptr, 0, kRetryMs);
      continue;
    }
    set_option(made.file(), IPPROTO_TCP, TCP_NODELAY, 1);
    Hello hello;
    hello.index = index;
    Hello answer;
    try {
      send_all(made.file(), &hello, sizeof hello);
      receive_all(made.file(), &answer, sizeof answer);
    } catch (const std::runtime_error& lost) {
      error = lost.what();
      poll(nullptr, 0, kRetryMs);
      continue;
    }
    if (std::memcmp(&answer, &hello, sizeof hello) != 0)
      throw std::runtime_error(host + ", port " + std::to_string(port) +
                               " is not another nearpeak-native");
    set_timeouts(made.file(), 0);
    place(all, index) = std::move(made);
    ++index;
  }
  return all;
}

void send_all(int file, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = send(file, from, bytes, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw socket_error("send");
    from += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

void receive_all(int file, void* data, std::size_t bytes) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = recv(file, to, bytes, MSG_WAITALL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw socket_error("recv");
    if (count == 0) throw std::runtime_error("the other end has closed its connection");
    to += count;
    bytes -= static_cast<std::size_t>(count);
  }
}

std::uint64_t SocketTeam::agree(std::uint64_t value) {
  if (leads())
    send_all(control_.file(), &value, sizeof value);
  else
    receive_all(control_.file(), &value, sizeof value);
  return value;
}

std::string SocketTeam::tell_leader(const std::string& text) {
  std::uint64_t bytes = text.size();
  if (!leads()) {
    send_all(control_.file(), &bytes, sizeof bytes);
    send_all(control_.file(), text.data(), bytes);
    return "";
  }
  receive_all(control_.file(), &bytes, sizeof bytes);
  if (bytes > kMostText) throw std::runtime_error("the other end sends nonsense");
  std::string told(bytes, '\0');
  receive_all(control_.file(), told.data(), bytes);
  return told;
}

}  // namespace nearpeak
