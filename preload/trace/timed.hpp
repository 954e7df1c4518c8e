// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "calls/real.hpp"
#include "trace/memory.hpp"
#include "trace/message.hpp"
#include "trace/table.hpp"

namespace nearpeak::trace {

// Libraries call MPI in MPI: the outermost call alone is counted.
[[gnu::tls_model("initial-exec")]] inline thread_local bool inside = false;

inline void count(int operation, const Message& message, std::uint64_t ticks, std::uint64_t now) {
  const bool device = message.data != nullptr && on_device(message.data, now);
  add({operation, message.maker, message.bytes, device, message.peer}, ticks, now);
}
inline void count(int operation, const PersistentRequest& made, std::uint64_t ticks,
                  std::uint64_t now) {
  remember(operation, made);
  count(operation, Message{}, ticks, now);
}
// Each of them for itself, with its part of the time.
inline void count(int operation, const Starts& starts, std::uint64_t ticks, std::uint64_t now) {
  for (int i = 0; i < starts.n(); ++i)
    count(operation, starts.of(i), ticks / static_cast<unsigned>(starts.n()), now);
}

// Does `call` and counts it as what `about` says afterwards.
template <typename Call, typename About>
int timed(int operation, const Call& call, const About& about) {
  if (inside || !counting()) return call();
  inside = true;
  const std::uint64_t from = ticks();
  const int status = call();
  const std::uint64_t to = ticks();
  if (status == MPI_SUCCESS)
    count(operation, about(), to - from, to);
  else
    count(operation, Message{}, to - from, to);
  inside = false;
  return status;
}

}  // namespace nearpeak::trace
