// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

// Puts a message that is in host memory where its receive wants it.
void put(Receive& receive, const void* from, std::size_t bytes);
// Writes the number of bytes where the layer knows better than the MPI library.
void correct(const Receive& receive, MPI_Status& status);

}  // namespace nearpeak::layer
