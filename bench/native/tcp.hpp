// SPDX-License-Identifier: Apache-2.0
// Two processes, of one host or of two, that move messages through TCP sockets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "native/socket.hpp"
#include "native/team.hpp"

namespace nearpeak {

// How a method uses its sockets.
struct TcpMethod {
  std::string name;
  int streams;             // connections
  bool own_ways;           // each of the two directions has its own
  bool spins;              // asks the kernel again and again, instead of sleeping
  std::size_t most_parts;  // messages in one system call,
  std::size_t most_bytes;  // and bytes
  int buffer;              // bytes of the socket buffers; 0: as the kernel adapts them
  std::size_t smallest;    // bytes of a message: not tried below
};

const std::vector<TcpMethod>& tcp_methods();

struct TcpOptions {
  CommonOptions common;
  std::vector<Metric> metrics = pair_metrics();
  bool probe = true;
  // Both ends forked here:
  std::vector<int> cpus;
  std::string address;
  // or this process is one of two that a launcher has started:
  std::string peer;  // the host of rank 0
  int port = 0;
};

// Of this process, as its launcher has told it. Throws BadInput.
int launched_rank();

// Return the exit status. Throw BadInput and std::runtime_error.
int run_tcp_forked(const TcpOptions& options, const std::vector<TcpMethod>& methods);
int run_tcp_launched(const TcpOptions& options, const std::vector<TcpMethod>& methods);

}  // namespace nearpeak
