// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "benchmark/benchmark.hpp"
#include "group/host_memory.hpp"

namespace nearpeak {

// Of what a rank is about to take for `what`. Collective; throws Unfit on all ranks where that is
// too much for one of them.
inline void check_memory(const CaseContext& context, std::uint64_t bytes, const std::string& what) {
  if (const std::uint64_t most = context.group.largest(bytes); most > context.most_bytes)
    throw Unfit(what + " of a rank take " + bytes_text_up(most) + ": more than --memory-limit " +
                bytes_text(context.most_bytes));
  const std::string why = why_too_much(context.group, on_device(context.kind) ? 0 : bytes);
  if (!why.empty()) throw Unfit(why);
}

}  // namespace nearpeak
