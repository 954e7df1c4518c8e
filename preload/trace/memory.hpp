// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nearpeak::trace {

// Whether a buffer is in the memory of a GPU, as its driver says: CUDA's, where the process has
// loaded it. `now`: ticks().
bool on_device(const void* data, std::uint64_t now);

}  // namespace nearpeak::trace
