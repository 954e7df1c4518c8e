// SPDX-License-Identifier: Apache-2.0
// A backend over a driver of accel/gpu/driver.hpp.
#pragma once

#include <memory>

#include "accel/accelerator.hpp"
#include "accel/gpu/driver.hpp"

namespace nearpeak::gpu {

// The allocator of ordinary host memory that is pinned where it is.
inline constexpr const char* kRegistered = "registered";

// Throws BackendUnavailable where there is no device that can be used.
std::unique_ptr<Accelerator> new_accelerator(std::unique_ptr<const Driver> driver);

}  // namespace nearpeak::gpu
