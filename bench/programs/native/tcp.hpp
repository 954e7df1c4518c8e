// SPDX-License-Identifier: Apache-2.0
// The mode `tcp`, for tests.
#pragma once

#include <string>
#include <vector>

#include "programs/native/mode.hpp"
#include "transport/tcp/tcp.hpp"

namespace nearpeak {

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
