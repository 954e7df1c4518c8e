// SPDX-License-Identifier: Apache-2.0
// Two processes, of two hosts, that let perftest's programs move messages through RDMA adapters.
#pragma once

#include <string>
#include <vector>

#include "programs/native/mode.hpp"

namespace nearpeak {

struct VerbsMethod {
  std::string name;
  std::string program;
  bool latency;  // measured by this program; else a rate
  int queues;    // queue pairs, which share the window
  int client;    // the rank whose program connects and prints: data goes from rank 0 to rank 1
};

const std::vector<VerbsMethod>& verbs_methods();

struct VerbsOptions : ModeOptions {
  std::string peer{};     // the host of rank 0
  int port = 0;           // where the ends agree; perftest's programs take the next one
  std::string adapter{};  // "mlx5_0" or "mlx5_0:1"; empty: the first
  std::string buffers = "H,H";
  std::vector<std::string> devices{};  // of each end: the GPU's index or UUID, - for host memory
  double start_s = 20;                 // how long a program may take besides its messages
};

// Returns the exit status. Throws BadInput and std::runtime_error.
int run_verbs(const VerbsOptions& options, std::vector<VerbsMethod> methods);

}  // namespace nearpeak
