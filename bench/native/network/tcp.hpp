// SPDX-License-Identifier: Apache-2.0
// Two processes, of one host or of two, that move messages through TCP sockets.
#pragma once

#include <string>
#include <vector>

#include "native/mode.hpp"

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
};

const std::vector<TcpMethod>& tcp_methods();

struct TcpOptions : ModeOptions {
  // Both ends forked here, on `cpus`:
  std::string address = "127.0.0.1";
  // or this process is one of two that a launcher has started:
  std::string peer{};  // the host of rank 0
  int port = 0;
};

// Returns the exit status. Throws BadInput and std::runtime_error.
int run_tcp(const TcpOptions& options, std::vector<TcpMethod> methods);

}  // namespace nearpeak
