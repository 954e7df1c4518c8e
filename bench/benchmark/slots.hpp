// SPDX-License-Identifier: Apache-2.0
// How many buffers a case has, as --reuse asks, and how much of them is looked at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// How many windows of `window` messages of `bytes` a rotating case goes through: at least 2, more
// than twice `cache_bytes` in all, but at most 1 GiB of slots of `slot_bytes` (0: of the message).
std::uint64_t rotating_windows(std::size_t bytes, std::uint64_t window, std::uint64_t cache_bytes,
                               std::size_t slot_bytes = 0);

// Slots for windows of so many messages.
std::uint64_t slots_for(const CaseContext& context, std::uint64_t window);

// Where one message of `bytes` is under way at a time, in slots of as many or of `slot_bytes`:
// several if buffers rotate, as many as this rank's cache asks for.
std::size_t slots_for_one(const CaseContext& context, std::size_t bytes,
                          std::size_t slot_bytes = 0);

// Of what was timed, as rotating buffers may be gigabytes.
inline constexpr std::size_t kMostLookedAt = std::size_t{64} << 20;  // bytes
// Slots, of so many bytes from one to the next; at least one.
inline std::size_t most_looked_at(std::size_t stride) { return 1 + kMostLookedAt / stride; }

}  // namespace nearpeak
