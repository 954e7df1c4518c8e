// SPDX-License-Identifier: Apache-2.0
// Whether the buffers of a case fit, said before they are taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// Bytes of a rank's buffers, of the context's kind.
struct Taken {
  std::uint64_t limited;  // that --memory-limit counts
  std::uint64_t all;
  std::uint64_t scratch = 0;  // of the CPU's memory besides, for what is written and looked at
};

// Why buffers of so many bytes do not fit into the hosts of the ranks, with `scratch` bytes as
// Taken has them; the same on all ranks, and empty where they fit. Collective.
std::string why_not_in_host(const CaseContext& context, std::uint64_t bytes,
                            std::uint64_t scratch = 0);

// Of `what`. Collective; throws Unfit on all ranks where it is too much for one of them.
void check_memory(const CaseContext& context, const std::string& what, const Taken& taken);

// Of buffers that grow with the size, from the smallest that there can be. What it throws also says
// the largest size that fits.
void check_memory(const CaseContext& context, const std::string& what, std::size_t smallest,
                  const std::function<std::uint64_t(std::size_t size)>& bytes_at);

}  // namespace nearpeak
