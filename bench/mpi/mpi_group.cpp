// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_group.hpp"

namespace nearpeak {

MpiGroup::MpiGroup(bool reversed) : reversed_(reversed) {
  if (reversed) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &comm_);
  } else {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  }
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

MpiGroup::~MpiGroup() { MPI_Comm_free(&comm_); }

void MpiGroup::barrier() { MPI_Barrier(comm_); }

void MpiGroup::broadcast(void* data, std::size_t bytes) {
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, kLeaderRank, comm_);
}

void MpiGroup::gather(const void* mine, std::size_t bytes, void* all) {
  const int count = static_cast<int>(bytes);
  MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_);
}

}  // namespace nearpeak
