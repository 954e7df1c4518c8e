// SPDX-License-Identifier: Apache-2.0
// Nothing here is asked of other ranks: they need not have this library.
#include "trace/message.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "calls/handles.hpp"
#include "calls/real.hpp"

namespace nearpeak::trace {
namespace {

// The ranks that a communicator or window has: of two groups, the other one.
struct Members {
  int own = MPI_UNDEFINED;
  int size = 0;
  int own_size = 0;        // of a communicator: of this rank's group
  std::vector<int> peers;  // by rank, as peer_in; empty: ranks are those of MPI_COMM_WORLD
};

struct Request {
  int maker = 0;
  Message start;
  std::int64_t part_bytes = -1;
};

// Never freed: threads may call MPI while the program ends.
auto& comms = *new calls::Handles<MPI_Comm, Members>;
auto& windows = *new calls::Handles<MPI_Win, Members>;
auto& types = *new calls::Handles<MPI_Datatype, std::int64_t>;
auto& requests = *new calls::Handles<MPI_Request, Request>;

MPI_Group all{};  // of MPI_COMM_WORLD, or what stands for it

Members members_of(MPI_Group group) {
  Members found;
  NEARPEAK_REAL(MPI_Group_rank)(group, &found.own);
  NEARPEAK_REAL(MPI_Group_size)(group, &found.size);
  const auto size = static_cast<std::size_t>(found.size);
  std::vector<int> ranks(size), there(size, MPI_UNDEFINED);
  for (std::size_t i = 0; i < size; ++i) ranks[i] = static_cast<int>(i);
  NEARPEAK_REAL(MPI_Group_translate_ranks)(group, found.size, ranks.data(), all, there.data());
  if (there == ranks) return found;
  for (int& rank : there)
    if (rank == MPI_UNDEFINED) rank = kUnknown;
  found.peers = std::move(there);
  return found;
}

const Members& members_of_comm(MPI_Comm comm) {
  if (const Members* const known = comms.find(comm)) return *known;
  MPI_Group group{};
  int inter = 0;
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &inter);
  if (inter != 0)
    NEARPEAK_REAL(MPI_Comm_remote_group)(comm, &group);
  else
    NEARPEAK_REAL(MPI_Comm_group)(comm, &group);
  Members found = members_of(group);
  NEARPEAK_REAL(MPI_Comm_size)(comm, &found.own_size);
  NEARPEAK_REAL(MPI_Group_free)(&group);
  return *comms.put(comm, std::move(found));
}

const Members& members_of_window(MPI_Win window) {
  if (const Members* const known = windows.find(window)) return *known;
  MPI_Group group{};
  NEARPEAK_REAL(MPI_Win_get_group)(window, &group);
  const Members& found = *windows.put(window, members_of(group));
  NEARPEAK_REAL(MPI_Group_free)(&group);
  return found;
}

int peer_among(const Members& members, int rank) {
  if (rank < 0) return rank == MPI_PROC_NULL ? kNull : kUnknown;
  if (rank >= members.size) return kUnknown;
  return members.peers.empty() ? rank : members.peers[static_cast<std::size_t>(rank)];
}

void enters() {
  int rank = 0, ranks = 0;
  NEARPEAK_REAL(MPI_Group_rank)(all, &rank);
  NEARPEAK_REAL(MPI_Group_size)(all, &ranks);
  begin(rank, ranks);
}

void leaves() {
  end();
  NEARPEAK_REAL(MPI_Group_free)(&all);
}

}  // namespace

std::int64_t size_of(MPI_Datatype type) {
  if (const std::int64_t* const known = types.find(type)) return *known;
  MPI_Count bytes = 0;
  NEARPEAK_REAL(MPI_Type_size_x)(type, &bytes);
  return *types.put(type, bytes < 0 ? 0 : std::int64_t{bytes});
}

std::int64_t received_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  NEARPEAK_REAL(MPI_Get_elements_x)(&status, calls::byte_type(), &bytes);
  return bytes < 0 ? 0 : std::int64_t{bytes};
}

int ranks_of(MPI_Comm comm) { return members_of_comm(comm).size; }
int own_ranks_of(MPI_Comm comm) { return members_of_comm(comm).own_size; }
int rank_in(MPI_Comm comm) { return members_of_comm(comm).own; }
int peer_in(MPI_Comm comm, int rank) { return peer_among(members_of_comm(comm), rank); }
int peer_of_window(MPI_Win window, int rank) { return peer_among(members_of_window(window), rank); }

void remember(int maker, const PersistentRequest& made) {
  requests.drop(made.request);  // of one that was freed unseen
  requests.put(made.request, {maker, made.start, made.part_bytes});
}

Starts::Starts(int n, const MPI_Request* given)
    : n_(n), requests_(given), before_(given, given + std::max(n, 0)) {}

// Open MPI starts a new request where the message before of a buffered send is still in the buffer.
Message Starts::of(int i) const {
  const MPI_Request before = before_[static_cast<std::size_t>(i)], now = requests_[i];
  const Request* const known = requests.find(before);
  if (known == nullptr) return {};
  const Request record = *known;
  if (now != before) {
    requests.drop(before);
    requests.drop(now);
    requests.put(now, record);
  }
  Message start = record.start;
  start.maker = record.maker;
  return start;
}

Message ready(int parts, MPI_Request request) {
  const Request* const known = requests.find(request);
  if (known == nullptr || known->part_bytes < 0) return {};
  return {parts * known->part_bytes, known->start.data, known->start.peer};
}

void forget_comm(const MPI_Comm* comm) {
  if (comm != nullptr) comms.drop(*comm);
}
void forget_window(const MPI_Win* window) {
  if (window != nullptr) windows.drop(*window);
}
void forget_type(const MPI_Datatype* type) {
  if (type != nullptr) types.drop(*type);
}
void forget_request(const MPI_Request* request) {
  if (request != nullptr) requests.drop(*request);
}

#if NEARPEAK_MPI_LEVEL >= 40
namespace {
MPI_Session first{};      // that counting began with
bool in_session = false;  // it ends with that one, too
MPI_Group before{};       // its group, once MPI_Init has come
bool outlived = false;    // whether there is one
}  // namespace

void enters_world() {
  if (counting() && !in_session) return;
  // What a session began goes on. Other threads may use its group until its end.
  outlived = std::exchange(in_session, false);
  if (outlived) before = all;
  NEARPEAK_REAL(MPI_Comm_group)(calls::comm_world(), &all);
  if (!outlived) enters();
}

void leaves_world() {
  if (counting() && !in_session) leaves();
}

void enters_session(MPI_Session session) {
  if (counting() || in_session ||
      NEARPEAK_REAL(MPI_Group_from_session_pset)(session, "mpi://WORLD", &all) != MPI_SUCCESS)
    return;
  first = session;
  in_session = true;
  enters();
}

void leaves_session(MPI_Session session) {
  if (session != first) return;
  if (std::exchange(outlived, false)) NEARPEAK_REAL(MPI_Group_free)(&before);
  if (std::exchange(in_session, false)) leaves();
}
#else
void enters_world() {
  NEARPEAK_REAL(MPI_Comm_group)(calls::comm_world(), &all);
  enters();
}

void leaves_world() {
  if (counting()) leaves();
}
#endif

}  // namespace nearpeak::trace
