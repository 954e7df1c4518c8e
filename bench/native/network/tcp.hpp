// SPDX-License-Identifier: Apache-2.0
// Two processes, of one host or of two, that move messages through TCP sockets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "native/socket.hpp"
#include "native/team.hpp"

namespace nearpeak {

// What a process does when the kernel has neither data nor room for it.
enum class Idle {
  kSleeps,
  kAsks,  // tries again at once: the shortest latency, but it holds the socket's lock again and
          // again
  kPolls  // asks without taking the lock, which leaves it to the other end's data
};

// How a method uses its sockets.
struct TcpMethod {
  std::string name;
  int streams;    // connections
  bool own_ways;  // each of the two directions has its own
  Idle idle;
  std::size_t most_parts;  // messages in one system call,
  std::size_t most_bytes;  // and bytes
  int buffer;              // bytes of the socket buffers; 0: as the kernel adapts them
  std::size_t smallest;    // bytes of a message: not tried below, as it cannot win there,
  std::size_t largest;     // nor above
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

// Return the exit status. Throw BadInput and std::runtime_error.
int run_tcp_forked(const TcpOptions& options, const std::vector<TcpMethod>& methods);
int run_tcp_launched(const TcpOptions& options, const std::vector<TcpMethod>& methods);

}  // namespace nearpeak
