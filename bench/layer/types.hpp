// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/real.hpp"

namespace nearpeak::layer {

struct Type {
  MPI_Count bytes = 0;
  bool named = false;
  bool dense = false;  // any number of them lies in memory as it is packed, from the start on
};

const Type& type_of(MPI_Datatype type);
void forget_type(MPI_Datatype type);

// Of a receive, in bytes.
inline std::size_t room_of(MPI_Count n, MPI_Datatype type) {
  return n <= 0 ? 0 : static_cast<std::size_t>(n * type_of(type).bytes);
}

// Puts packed data where a receive of n of a type would have put it.
void unpack(const void* packed, std::size_t bytes, void* data, MPI_Count n, MPI_Datatype type);

}  // namespace nearpeak::layer
