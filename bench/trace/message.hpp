// SPDX-License-Identifier: Apache-2.0
// What a call is counted as.
#pragma once

#include <cstdint>

#include "trace/real.hpp"
#include "trace/table.hpp"

namespace nearpeak::trace {

struct Message {
  std::int64_t bytes = -1;  // -1: calls of this kind have no size
  const void* data = nullptr;
  Peer peer = Peer::none;
};

std::int64_t size_of(MPI_Datatype type);
inline std::int64_t bytes_of(MPI_Count count, MPI_Datatype type) { return count * size_of(type); }

// After MPI_Init: which ranks are on this host.
void learn_hosts();
// Handles may be used again for something else.
void forget();

Peer peer_in(MPI_Comm comm, int rank);
Peer peer_of_window(MPI_Win window, int rank);

inline Message message(const void* data, MPI_Count count, MPI_Datatype type, int rank,
                       MPI_Comm comm) {
  return {bytes_of(count, type), data, peer_in(comm, rank)};
}
inline Message access(const void* data, MPI_Count count, MPI_Datatype type, int rank,
                      MPI_Win window) {
  return {bytes_of(count, type), data, peer_of_window(window, rank)};
}
// What a status says; `data` is the buffer.
std::int64_t received_bytes(const MPI_Status& status);
Message received(const void* data, const MPI_Status& status, MPI_Comm comm);

// A part of a collective operation; where it is in place, that of the second buffer.
inline Message part(const void* data, MPI_Count count, MPI_Datatype type,
                    const void* other = nullptr, MPI_Count other_count = 0,
                    MPI_Datatype other_type = {}) {
  if (data == MPI_IN_PLACE) return {bytes_of(other_count, other_type), other};
  return {bytes_of(count, type), data};
}

int ranks_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);
template <typename Count>
MPI_Count sum(const Count* counts, MPI_Comm comm) {
  MPI_Count all = 0;
  for (int i = 0, n = ranks_of(comm); i < n; ++i) all += counts[i];
  return all;
}

}  // namespace nearpeak::trace
