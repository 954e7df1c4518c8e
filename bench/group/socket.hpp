// SPDX-License-Identifier: Apache-2.0
// Processes, of one host or of several, that meet over TCP, and their other connections.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "group/group.hpp"

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

// Who connects must know the token of the launch (NEARPEAK_TOKEN), and so must who listens: neither
// takes a stranger for the other, and several that say nothing, or say it slowly, keep nobody
// waiting. What members send is not encrypted.
//
// Listens on an address of this host, or on all where it is empty; port 0 takes a free one. Throws
// BadInput where it cannot.
Socket listen_on(const std::string& address, int port);
// The same of rank 0, whose host others know by the name `peer`: on its address where this host has
// it. By a name that stands for a loopback address here alone, as Debian has it of a host's own,
// and by one of a gateway, others reach other addresses of this host: then on all.
Socket listen_as(const std::string& peer, int port);
int port_of(const Socket& listener);

constexpr int kConnectSeconds = 20;  // how long processes wait for each other to come

// Connections of two processes, to carry payload. `buffers` holds for each the bytes of its
// socket buffers, or 0 where the kernel is to choose and adapt. After `patience_s` without a byte
// calls on them end with EAGAIN. Throw std::runtime_error after kConnectSeconds without the other.
std::vector<Socket> accept_streams(const Socket& listener, const std::vector<int>& buffers,
                                   double patience_s);
std::vector<Socket> connect_streams(const std::string& host, int port,
                                    const std::vector<int>& buffers, double patience_s);

// What a call on a stream failed with, from errno, for all calls in the same words.
inline constexpr char kConnectionClosed[] = "another rank has closed its connection";
std::runtime_error stream_error(const std::string& what);

// All of it, however many calls it takes. Throw std::runtime_error, also when the other end closes
// or is silent for longer than the socket's patience.
void send_all(int file, const void* data, std::size_t bytes);
void receive_all(int file, void* data, std::size_t bytes);

// A star: every member has a connection to the leader. Members that die or fall silent for
// `patience_s` seconds end the others with std::runtime_error.
class SocketGroup final : public Group {
 public:
  // The leader, at whose listener the others call; the others. Both throw std::runtime_error after
  // kConnectSeconds without them.
  SocketGroup(const Socket& listener, int size, double patience_s);
  SocketGroup(const std::string& host, int port, int rank, int size, double patience_s);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool hands_over_files() const override { return false; }
  std::string address_of(int rank) const;  // of one that this one is connected to, in numbers
  void barrier() override;
  void broadcast(void* data, std::size_t bytes) override;
  void gather(const void* mine, std::size_t bytes, void* all) override;
  using Group::broadcast;
  using Group::gather;

 private:
  int rank_;
  int size_;
  std::vector<Socket> to_;  // of the leader: to each rank; of the others: to the leader alone
};

}  // namespace nearpeak
