// SPDX-License-Identifier: Apache-2.0
// What MPI's own types and operations are to kernels that combine numbers.
#pragma once

#include <optional>

#include "accel/reducer.hpp"
#include "calls/real.hpp"

namespace nearpeak::layer {

// Nothing where no kernel does it, as of an operation or a type that the application has made.
std::optional<Combination> reduction_of(MPI_Datatype type, MPI_Op op);

}  // namespace nearpeak::layer
