// SPDX-License-Identifier: Apache-2.0
// All ranks of an MPI job as a group, or two of them.
#pragma once

#include <mpi.h>

#include "group/group.hpp"

namespace nearpeak {

class MpiGroup final : public Group {
 public:
  // Of all ranks, in their order or with the last one as rank 0. Collective over MPI_COMM_WORLD.
  explicit MpiGroup(bool reversed = false);
  // Of this rank and another one of a group, the lower one first. Collective over the two.
  MpiGroup(const MpiGroup& whole, int partner);
  ~MpiGroup() override;
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  MPI_Comm comm() const { return comm_; }
  int launched_rank() const { return launched_rank_; }  // in MPI_COMM_WORLD

  void barrier() override;
  void broadcast(void* data, std::size_t bytes) override;
  void gather(const void* mine, std::size_t bytes, void* all) override;
  using Group::broadcast;
  using Group::gather;

 private:
  void know();  // what the communicator tells

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
  int launched_rank_ = 0;
};

// The communicator of a benchmark of nearpeak-mpi, whose group is always of MPI.
inline MPI_Comm comm_of(Group& group) { return static_cast<MpiGroup&>(group).comm(); }

}  // namespace nearpeak
