// SPDX-License-Identifier: Apache-2.0
// What libraries that make mistakes have in common.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace {

inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

inline bool is_faulty_rank(MPI_Comm comm) {
  return std::to_string(rank_in(comm)) == variable("NEARPEAK_FAULTY_RANK");
}

inline std::size_t bytes_of(MPI_Count count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

inline bool is_faulty_size(std::size_t bytes) {
  return std::to_string(bytes) == variable("NEARPEAK_FAULTY_BYTES");
}

}  // namespace
