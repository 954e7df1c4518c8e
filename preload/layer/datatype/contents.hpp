// SPDX-License-Identifier: Apache-2.0
// What a datatype was made of.
#pragma once

#include <vector>

#include "calls/real.hpp"

namespace nearpeak::layer {

class Contents {
 public:
  explicit Contents(MPI_Datatype type);
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents();

  int combiner = 0;
  // As MPI_Type_get_contents has them, also of a type that was made with large counts: its
  // integers, and its addresses.
  std::vector<MPI_Count> numbers;
  std::vector<MPI_Count> places;
  // The types that it was made of; none of the library's own types. They need not be committed.
  std::vector<MPI_Datatype> of;

 private:
  std::vector<MPI_Datatype> copies_;  // of them, to be freed
};

}  // namespace nearpeak::layer
