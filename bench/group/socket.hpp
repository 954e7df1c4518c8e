// SPDX-License-Identifier: Apache-2.0
// TCP connections between the two ends of a path, and how the ends agree through one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/team.hpp"

namespace nearpeak {

class Socket {
 public:
  explicit Socket(int file = -1) : file_(file) {}
  ~Socket();
  Socket(Socket&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  int file() const { return file_; }

 private:
  int file_;
};

// Listens on an address of this host, or on all where it is empty; port 0 takes a free one. Throws
// BadInput where it cannot.
Socket listen_on(const std::string& address, int port);
int port_of(const Socket& listener);
std::string peer_of(const Socket& connection);  // the other end's address, in numbers

constexpr double kConnectSeconds = 20;  // how long the ends wait for each other

// The connections of a path: one to agree through, the others for payload. `buffers` holds for each
// payload connection the bytes of its socket buffers, or 0 where the kernel is to choose and adapt;
// those come first.
struct Connections {
  Socket control;
  std::vector<Socket> streams;
};

// Both throw std::runtime_error after kConnectSeconds without the other end.
Connections accept_connections(const Socket& listener, const std::vector<int>& buffers);
Connections make_connections(const std::string& host, int port, const std::vector<int>& buffers);

// All of it, however many calls it takes. Throw std::runtime_error, also when the other end closes.
void send_all(int file, const void* data, std::size_t bytes);
void receive_all(int file, void* data, std::size_t bytes);

class SocketTeam final : public Team {
 public:
  SocketTeam(const Socket& control, int rank) : control_(control), rank_(rank) {}
  int rank() const override { return rank_; }
  std::uint64_t agree(std::uint64_t value) override;
  std::string tell_leader(const std::string& text) override;

 private:
  const Socket& control_;
  int rank_;
};

}  // namespace nearpeak
