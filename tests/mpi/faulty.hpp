// SPDX-License-Identifier: Apache-2.0
// What libraries that make mistakes have in common. NEARPEAK_FAULT and NEARPEAK_FAULTY_BYTES may be
// lists, like late,gap and 1004,1008: then each fault is that of messages of its size.
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

// Takes the first word off a list.
inline std::string take_word(std::string& list) {
  const std::size_t end = list.find(',');
  const std::string word = list.substr(0, end);
  list.erase(0, end == std::string::npos ? end : end + 1);
  return word;
}

// Of what has so many bytes; empty: it is right.
inline std::string fault_of_size(std::size_t bytes) {
  std::string faults = variable("NEARPEAK_FAULT");
  std::string sizes = variable("NEARPEAK_FAULTY_BYTES");
  while (!sizes.empty()) {
    const std::string fault = take_word(faults);
    if (take_word(sizes) == std::to_string(bytes)) return fault;
  }
  return "";
}

inline bool is_faulty_size(std::size_t bytes) { return !fault_of_size(bytes).empty(); }

}  // namespace
