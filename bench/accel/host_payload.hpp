// SPDX-License-Identifier: Apache-2.0
// Payloads in memory that only copies reach: made and checked in host memory, a part at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "accel/accelerator.hpp"

namespace nearpeak {

// flip: 0, or all ones for the inverse.
void fill_through_host(Device& device, void* target, std::size_t bytes, std::uint64_t seed,
                       std::uint64_t flip);
std::optional<Mismatch> find_mismatch_through_host(Device& device, const void* data,
                                                   std::size_t bytes, std::uint64_t seed);

}  // namespace nearpeak
