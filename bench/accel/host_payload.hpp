// SPDX-License-Identifier: Apache-2.0
// Payloads in memory that only copies reach: made and checked in host memory, some slots at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "accel/accelerator.hpp"

namespace nearpeak {

// As those of payload/pattern.hpp.
void fill_through_host(Device& device, void* base, const SlotLayout& layout, const Payload& payload,
                       Part part);
void poison_through_host(Device& device, void* base, const SlotLayout& layout, std::uint64_t seed);
std::optional<Mismatch> find_mismatch_through_host(Device& device, const void* base,
                                                   const SlotLayout& layout, const Payload& payload,
                                                   Part part);

}  // namespace nearpeak
