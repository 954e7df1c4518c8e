// SPDX-License-Identifier: Apache-2.0
// Messages to and from all neighbours by MPI, begun together.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "app/halo_cells.hpp"

namespace nearpeak {

// A datatype of the cells of a box in some fields of an array of cells.
class BoxType {
 public:
  BoxType(const HaloBlock& block, const HaloMessage& message, const Box& box, MPI_Datatype cell);
  ~BoxType() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  BoxType(BoxType&& other) noexcept : type_(other.type_) { other.type_ = MPI_DATATYPE_NULL; }
  BoxType& operator=(BoxType&&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// What a message is given to MPI as, at one end.
struct MessageEnd {
  char* data;
  int count;
  MPI_Datatype type;
};
// The i-th is one of the block's messages, and the one that answers it.
struct MessageEnds {
  MessageEnd out;
  MessageEnd in;
};

class HaloTransfer {
 public:
  virtual ~HaloTransfer() = default;
  virtual void run() = 0;  // all that is sent and received, whole
};

// `exchange`: isend, persistent or neighbor. Collective.
std::unique_ptr<HaloTransfer> make_halo_transfer(const std::string& exchange, MPI_Comm comm,
                                                 const std::vector<HaloMessage>& messages,
                                                 const std::vector<MessageEnds>& ends);

}  // namespace nearpeak
