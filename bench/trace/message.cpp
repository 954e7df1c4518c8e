// SPDX-License-Identifier: Apache-2.0
#include "trace/message.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "trace/real.hpp"

namespace nearpeak::trace {
namespace {

#define FIXED [[gnu::tls_model("initial-exec")]] thread_local

std::atomic<unsigned> generation{1};  // of handles

bool all_here = false;
std::vector<Peer>* world = nullptr;  // by rank in MPI_COMM_WORLD; never freed

// Of the handle that a thread has used last.
template <typename Handle>
struct Known {
  Handle handle;
  unsigned generation;
  int rank;                  // own
  std::vector<Peer>* peers;  // by rank; null where all ranks are here
};

FIXED Known<MPI_Comm> last_comm{};
FIXED Known<MPI_Win> last_window{};

struct KnownType {
  MPI_Datatype type;
  unsigned generation;
  std::int64_t bytes;
};
FIXED KnownType last_type{};

MPI_Group group_of_comm(MPI_Comm comm, int& own) {
  MPI_Group group{};
  int inter = 0;
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &inter);
  if (inter != 0) {
    own = MPI_UNDEFINED;
    NEARPEAK_REAL(MPI_Comm_remote_group)(comm, &group);
  } else {
    NEARPEAK_REAL(MPI_Comm_group)(comm, &group);
    NEARPEAK_REAL(MPI_Group_rank)(group, &own);
  }
  return group;
}

MPI_Group group_of_window(MPI_Win window, int& own) {
  MPI_Group group{};
  NEARPEAK_REAL(MPI_Win_get_group)(window, &group);
  NEARPEAK_REAL(MPI_Group_rank)(group, &own);
  return group;
}

// Where the ranks of a group are, by their ranks in MPI_COMM_WORLD.
void locate(MPI_Group group, std::vector<Peer>& peers) {
  int size = 0;
  NEARPEAK_REAL(MPI_Group_size)(group, &size);
  peers.assign(static_cast<std::size_t>(size), Peer::unknown);
  if (world == nullptr) return;
  MPI_Group all{};
  NEARPEAK_REAL(MPI_Comm_group)(comm_world(), &all);
  std::vector<int> ranks(peers.size()), there(peers.size(), MPI_UNDEFINED);
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  NEARPEAK_REAL(MPI_Group_translate_ranks)(group, size, ranks.data(), all, there.data());
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (there[i] != MPI_UNDEFINED) peers[i] = (*world)[static_cast<std::size_t>(there[i])];
  NEARPEAK_REAL(MPI_Group_free)(&all);
}

template <auto group_of, typename Handle>
Peer find_peer(Known<Handle>& known, Handle handle, int rank) {
  const unsigned now = generation.load(std::memory_order_relaxed);
  if (known.handle != handle || known.generation != now) {
    MPI_Group group = group_of(handle, known.rank);
    if (!all_here) {
      if (known.peers == nullptr) known.peers = new std::vector<Peer>;
      locate(group, *known.peers);
    }
    NEARPEAK_REAL(MPI_Group_free)(&group);
    known.handle = handle;
    known.generation = now;
  }
  if (rank < 0) return rank == MPI_PROC_NULL ? Peer::none : Peer::unknown;
  if (rank == known.rank) return Peer::self;
  if (all_here) return Peer::same_host;
  const auto place = static_cast<std::size_t>(rank);
  return place < known.peers->size() ? (*known.peers)[place] : Peer::unknown;
}

int number(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

std::int64_t size_of(MPI_Datatype type) {
  const unsigned now = generation.load(std::memory_order_relaxed);
  if (last_type.type != type || last_type.generation != now) {
    int bytes = 0;
    NEARPEAK_REAL(MPI_Type_size)(type, &bytes);
    last_type = {type, now, bytes < 0 ? 0 : bytes};
  }
  return last_type.bytes;
}

int ranks_of(MPI_Comm comm) {
  int size = 0, inter = 0;
  NEARPEAK_REAL(MPI_Comm_test_inter)(comm, &inter);
  if (inter != 0)
    NEARPEAK_REAL(MPI_Comm_remote_size)(comm, &size);
  else
    NEARPEAK_REAL(MPI_Comm_size)(comm, &size);
  return size;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  NEARPEAK_REAL(MPI_Comm_rank)(comm, &rank);
  return rank;
}

void learn_hosts() {
  int ranks = 0;
  NEARPEAK_REAL(MPI_Comm_size)(comm_world(), &ranks);
  const int here = std::max(number("OMPI_COMM_WORLD_LOCAL_SIZE"), number("MPI_LOCALNRANKS"));
  all_here = ranks == 1 || here == ranks;
  if (all_here) return;
  // Ranks that do not have this library would be waited for: only where it is everywhere.
  char path[4096];
  struct stat found{};
  std::snprintf(path, sizeof path, "%s/everywhere", std::getenv("NEARPEAK_TRACE"));
  if (stat(path, &found) != 0) return;
  MPI_Comm host{};
  NEARPEAK_REAL(MPI_Comm_split_type)
  (comm_world(), MPI_COMM_TYPE_SHARED, 0, no_info(), &host);
  MPI_Group all{}, near{};
  NEARPEAK_REAL(MPI_Comm_group)(comm_world(), &all);
  NEARPEAK_REAL(MPI_Comm_group)(host, &near);
  auto* const peers = new std::vector<Peer>;
  for (int rank = 0; rank < ranks; ++rank) {
    int there = MPI_UNDEFINED;
    NEARPEAK_REAL(MPI_Group_translate_ranks)(all, 1, &rank, near, &there);
    peers->push_back(there == MPI_UNDEFINED ? Peer::other_host : Peer::same_host);
  }
  NEARPEAK_REAL(MPI_Group_free)(&all);
  NEARPEAK_REAL(MPI_Group_free)(&near);
  NEARPEAK_REAL(MPI_Comm_free)(&host);
  world = peers;
}

void forget() { generation.fetch_add(1); }

Peer peer_in(MPI_Comm comm, int rank) { return find_peer<group_of_comm>(last_comm, comm, rank); }
Peer peer_of_window(MPI_Win window, int rank) {
  return find_peer<group_of_window>(last_window, window, rank);
}

std::int64_t received_bytes(const MPI_Status& status) {
  int bytes = 0;
  NEARPEAK_REAL(MPI_Get_count)(&status, byte_type(), &bytes);
  return bytes < 0 ? 0 : bytes;
}

Message received(const void* data, const MPI_Status& status, MPI_Comm comm) {
  return {received_bytes(status), data, peer_in(comm, status.MPI_SOURCE)};
}

}  // namespace nearpeak::trace
