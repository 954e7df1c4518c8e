// SPDX-License-Identifier: Apache-2.0
// Whether the buffers of a case fit, said before they are taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// What a rank takes: of its buffers those that --memory-limit counts, and all in the host's memory.
struct Taken {
  std::uint64_t bytes;
  std::uint64_t host_bytes;
};

// Of `what`. Collective; throws Unfit on all ranks where it is too much for one of them.
void check_memory(const CaseContext& context, const std::string& what, const Taken& taken);

// Of buffers of the context's kind, of which the bytes grow with the size. What it throws also says
// the largest size that fits.
void check_memory(const CaseContext& context, const std::string& what,
                  const std::function<std::uint64_t(std::size_t size)>& bytes_at);

}  // namespace nearpeak
