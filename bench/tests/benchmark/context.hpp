// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmark/benchmark.hpp"

// A case of so many bytes in host memory.
inline nearpeak::CaseContext context_of(nearpeak::Group& group, std::size_t bytes,
                                        nearpeak::Memory& memory = nearpeak::host_memory()) {
  return {.group = group,
          .kind = nearpeak::BufferKind::kHost,
          .memory = memory,
          .device = nullptr,
          .bytes = bytes,
          .window = 1,
          .offset = 0,
          .cache_bytes = 0,
          .most_bytes = std::size_t{1} << 30,
          .axes = {{nearpeak::kReuse, "fixed"}, {nearpeak::kTouch, "none"}},
          .methods = nullptr};
}
