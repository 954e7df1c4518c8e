// SPDX-License-Identifier: Apache-2.0
// What a call is counted as: the words of calls/calls.inc.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/real.hpp"
#include "trace/table.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::trace {

struct Message {
  std::int64_t bytes = -1;  // -1: calls of this kind have no size
  const void* data = nullptr;
  int peer = kNobody;
  int maker = 0;  // of a persistent request that is started
};

// A call that makes a persistent request, and what each of its starts is. It moves nothing itself.
struct PersistentRequest {
  MPI_Request request;
  Message start;
  std::int64_t part_bytes = -1;  // of what counts as its parts are ready
};

// A call that starts some: made before it, and told after it what their handles are then.
class Starts {
 public:
  Starts(int n, const MPI_Request* requests);
  int n() const { return n_; }
  // What the start of one is; nothing where it was not made by a call that is known.
  Message of(int i) const;

 private:
  int n_;
  const MPI_Request* requests_;
  std::vector<MPI_Request> before_;
};

std::int64_t size_of(MPI_Datatype type);
inline std::int64_t bytes_of(MPI_Count count, MPI_Datatype type) { return count * size_of(type); }
std::int64_t received_bytes(const MPI_Status& status);
// A rank in MPI_COMM_WORLD, kNull or kUnknown.
int peer_in(MPI_Comm comm, int rank);
int peer_of_window(MPI_Win window, int rank);

inline Message no_size() { return {}; }
inline Message unsized(const void* data) { return {-1, data}; }
inline Message message(const void* data, MPI_Count count, MPI_Datatype type, int rank,
                       MPI_Comm comm) {
  return {bytes_of(count, type), data, peer_in(comm, rank)};
}
inline Message received(const void* data, const MPI_Status& status, MPI_Comm comm) {
  return {received_bytes(status), data, peer_in(comm, status.MPI_SOURCE)};
}
inline Message arrived(const void* data, const MPI_Status& status) {
  return {received_bytes(status), data, kUnknown};
}
inline Message from_anywhere(const void* data, MPI_Count count, MPI_Datatype type) {
  return {bytes_of(count, type), data, kUnknown};
}
inline Message part(const void* data, MPI_Count count, MPI_Datatype type,
                    const void* other = nullptr, MPI_Count other_count = 0,
                    MPI_Datatype other_type = {}) {
  if (data == MPI_IN_PLACE) return {bytes_of(other_count, other_type), other};
  return {bytes_of(count, type), data};
}
inline Message access(const void* data, MPI_Count count, MPI_Datatype type, int rank,
                      MPI_Win window) {
  return {bytes_of(count, type), data, peer_of_window(window, rank)};
}
inline Message own(const void* data, MPI_Count count, MPI_Datatype type) {
  return {bytes_of(count, type), data};
}
inline Message filled(const void* data, const MPI_Status& status) {
  return {received_bytes(status), data};
}

inline PersistentRequest persistent(MPI_Request request, const Message& start) {
  return {request, start};
}
inline PersistentRequest partitioned(MPI_Request request, int parts, const Message& part,
                                     bool sends) {
  Message start = part;
  start.bytes = sends ? -1 : parts * part.bytes;
  return {request, start, part.bytes};
}
void remember(int maker, const PersistentRequest& made);
inline Starts started(int n, const MPI_Request* requests) { return {n, requests}; }
Message ready(int parts, MPI_Request request);

void forget_comm(const MPI_Comm* comm);
void forget_window(const MPI_Win* window);
void forget_type(const MPI_Datatype* type);
void forget_request(const MPI_Request* request);

// From then on this process counts, and no longer.
void enters_world();
void leaves_world();
#if NEARPEAK_MPI_LEVEL >= 40
void enters_session(MPI_Session session);
void leaves_session(MPI_Session session);
#endif

// That this rank sends to, of two groups those of the other one; and those of its own group.
int ranks_of(MPI_Comm comm);
int own_ranks_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);
template <typename Count>
MPI_Count sum(const Count* counts, int ranks) {
  MPI_Count all = 0;
  for (int i = 0; i < ranks; ++i) all += counts[i];
  return all;
}

}  // namespace nearpeak::trace
