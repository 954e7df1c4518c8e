// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/real.hpp"

namespace nearpeak::layer {

// Names a function of MPI: intercept(For<&MPI_Send>, ...) is what the layer does in its place while
// it is on. Of those that it does not do, calls.cpp checks the buffers.
template <auto kFunction>
struct For {};

}  // namespace nearpeak::layer

// NEARPEAK_REAL of a name that is put together.
#define NEARPEAK_REAL_FOR(name) NEARPEAK_REAL(name)
