// SPDX-License-Identifier: Apache-2.0
// Whether the buffers of a case fit, said before they are taken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// Bytes of a rank's buffers, of the context's kind.
struct BufferBytes {
  std::uint64_t all;
  std::uint64_t scratch = 0;  // of the CPU's memory besides, for what is written and looked at
  std::uint64_t limited = 0;  // of all, what --memory-limit counts
};

// Of every case, before it takes them. Collective; throws Unfit on all ranks where they are too
// much for a host, a device or the limit. `what` they are for.
void check_memory(const CaseContext& context, const BufferBytes& bytes,
                  const std::string& what = "the buffers");

// Of buffers that grow with the size, from the smallest that there can be. What it throws also says
// the largest size that fits.
void check_memory(const CaseContext& context, std::size_t smallest,
                  const std::function<std::uint64_t(std::size_t size)>& bytes_at,
                  const std::string& what);

}  // namespace nearpeak
