// SPDX-License-Identifier: Apache-2.0
// Numbers that an MPI library adds up.
#pragma once

#include <mpi.h>

#include "benchmark/addends.hpp"

namespace nearpeak {

// The types of numbers that mpi.h has.
Axis type_axis();

// Addends with their MPI type. Throws Unfit where the library lacks the type.
struct Elements : Addends {
  explicit Elements(const CaseContext& context);
  MPI_Datatype mpi;
};

}  // namespace nearpeak
