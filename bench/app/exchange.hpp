// SPDX-License-Identifier: Apache-2.0
// Messages between a rank and its neighbours, all at once: one each way with each of them.
#pragma once

#include <memory>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// The phase of computation that kernels do while messages are on their way: for how long the CPU
// does nothing but wait for it.
inline constexpr const char* kExposedCompute = "exposed compute";

// Whom a rank exchanges messages with, all of `out` for all of `in`. A neighbour that is one
// several times has its links in the same order at both ends; the bytes of a message are the same
// there.
struct Link {
  int peer;
  SlotBuffer* out;
  SlotBuffer* in;
};

class Exchange {
 public:
  // By the first of the context's methods. Collective; throws Unfit on all ranks where one cannot.
  Exchange(const CaseContext& context, const std::vector<Link>& links);

  // All receives and then all sends are begun; nothing else goes on until finish().
  void begin();
  void finish();

 private:
  struct Lane {
    std::size_t out_bytes;
    std::size_t in_bytes;
    std::unique_ptr<Transport> transport;
  };
  std::vector<Lane> lanes_;
};

}  // namespace nearpeak
