// SPDX-License-Identifier: Apache-2.0
// The mode `gpu`: what its facts are given, and what tests call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "programs/native/mode.hpp"
#include "transport/gpu/gpu.hpp"

namespace nearpeak {

// What a rank has for what no benchmark measures.
struct GpuRank {
  Runner& runner;
  SharedGroup& group;
  const ModeOptions& options;
  BufferKind kind;
  BufferKind peer_kind;
  GpuMemory& own;
  GpuMemory& peer;
  Device* device;
  Program* motion;
  const std::string& why_no_kernels;
  std::function<CaseName(const Metric& metric, std::size_t bytes, const std::string& method)> name;
};

// A fact of a path that the times of messages are made of, and no ceiling. One file registers them.
struct GpuFact {
  Metric metric;
  std::function<void(const GpuRank& rank, const Metric& metric, std::size_t bytes)> measure;
  bool sized = true;  // false: measured once, with 0 bytes
};
struct RegisterGpuFact {
  explicit RegisterGpuFact(GpuFact fact);
};

struct GpuOptions {
  ModeOptions mode;
  std::vector<std::string> devices;  // that each rank holds: an index or a UUID, with "BACKEND:" in
                                     // front or without; "-", for host memory alone: none
  std::string buffers = "D,D";       // as Kinds
};

// Returns the exit status. Throws BadInput.
int run_gpu(const GpuOptions& options, std::vector<GpuMethod> methods);

}  // namespace nearpeak
