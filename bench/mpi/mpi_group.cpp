// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi_group.hpp"

#include <algorithm>

namespace nearpeak {

MpiGroup::MpiGroup(bool reversed) {
  MPI_Comm_rank(MPI_COMM_WORLD, &launched_rank_);
  if (reversed)
    MPI_Comm_split(MPI_COMM_WORLD, 0, -launched_rank_, &comm_);
  else
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  know();
}

MpiGroup::MpiGroup(const MpiGroup& whole, int partner) : launched_rank_(whole.launched_rank_) {
  const int ranks[] = {std::min(whole.rank_, partner), std::max(whole.rank_, partner)};
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group two = MPI_GROUP_NULL;
  MPI_Comm_group(whole.comm_, &all);
  MPI_Group_incl(all, 2, ranks, &two);
  MPI_Comm_create_group(whole.comm_, two, 0, &comm_);
  MPI_Group_free(&two);
  MPI_Group_free(&all);
  know();
}

void MpiGroup::know() {
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
