// SPDX-License-Identifier: Apache-2.0
// Messages by MPI alone: it is given the buffers as they are.
#pragma once

#include <mpi.h>

#include <vector>

#include "transport/transport.hpp"

namespace nearpeak {

class DirectTransport final : public Transport {
 public:
  DirectTransport(MPI_Comm comm, const Messages& messages, const Buffers& buffers)
      : comm_(comm), peer_(messages.peer), out_(buffers.out), in_(buffers.in) {
    requests_.resize(2 * messages.window);
  }

  void begin_send(std::size_t slot, std::size_t bytes) override {
    MPI_Isend(place(out_, slot, bytes), count(bytes), MPI_BYTE, peer_, kTag, comm_,
              &requests_[open_++]);
  }
  void begin_receive(std::size_t slot, std::size_t bytes) override {
    MPI_Irecv(place(in_, slot, bytes), count(bytes), MPI_BYTE, peer_, kTag, comm_,
              &requests_[open_++]);
  }
  void finish() override {
    if (open_ == 1)
      MPI_Wait(requests_.data(), MPI_STATUS_IGNORE);
    else
      MPI_Waitall(open_, requests_.data(), MPI_STATUSES_IGNORE);
    open_ = 0;
  }

  void send(std::size_t slot, std::size_t bytes) override {
    MPI_Send(place(out_, slot, bytes), count(bytes), MPI_BYTE, peer_, kTag, comm_);
  }
  void receive(std::size_t slot, std::size_t bytes) override {
    MPI_Recv(place(in_, slot, bytes), count(bytes), MPI_BYTE, peer_, kTag, comm_,
             MPI_STATUS_IGNORE);
  }
  void exchange(std::size_t slot, std::size_t bytes) override {
    MPI_Sendrecv(place(out_, slot, bytes), count(bytes), MPI_BYTE, peer_, kTag,
                 place(in_, slot, bytes), count(bytes), MPI_BYTE, peer_, kTag, comm_,
                 MPI_STATUS_IGNORE);
  }

  static constexpr int kTag = 1;

 private:
  static int count(std::size_t bytes) { return static_cast<int>(bytes); }
  // An end that sends nothing has no slots.
  static char* place(const SlotBuffer& buffer, std::size_t slot, std::size_t bytes) {
    return bytes == 0 ? nullptr : buffer.slot(slot);
  }

  MPI_Comm comm_;
  int peer_;
  const SlotBuffer& out_;
  const SlotBuffer& in_;
  std::vector<MPI_Request> requests_;
  int open_ = 0;
};

}  // namespace nearpeak
