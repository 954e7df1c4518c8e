// SPDX-License-Identifier: Apache-2.0
// Messages between two processes, of one host or of two, through TCP sockets.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "group/shared.hpp"
#include "transport/transport.hpp"

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
  static constexpr std::size_t kAnySize = ~std::size_t{0};

  std::string name;
  int streams = 1;        // connections
  bool own_ways = false;  // each of the two directions has its own
  Idle idle = Idle::kAsks;
  bool together = false;     // all messages of a window are handed to the kernel at once
  std::size_t most_bytes;    // in one system call
  int buffer = 0;            // bytes of the socket buffers; 0: as the kernel adapts them
  std::size_t smallest = 0;  // bytes of a message: it cannot win below

  // Whether it may win; the same answer at both ends.
  bool applies(const Messages& messages) const;
};

const std::vector<TcpMethod>& tcp_methods();

// The connections that the methods use, of those of the path: the bytes of their buffers.
std::vector<int> tcp_buffers(const std::vector<TcpMethod>& methods);

// `files`: its connections. Where nothing moves for `patience_s` seconds it throws
// std::runtime_error.
std::unique_ptr<Transport> tcp_transport(const Messages& messages, const TcpMethod& method,
                                         std::vector<int> files, const Buffers& buffers, Wait wait,
                                         double patience_s);

}  // namespace nearpeak
