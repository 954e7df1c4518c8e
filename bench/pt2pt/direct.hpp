// SPDX-License-Identifier: Apache-2.0
// How a benchmark's messages go between its two ranks: here by MPI alone. The other roads
// (staging.hpp) have the same methods.
#pragma once

#include <vector>

#include "mpi/benchmark.hpp"

namespace nearpeak {

class Direct {
 public:
  // At most `sends` and `receives` messages of context.size_bytes are open at once.
  Direct(const CaseContext& context, std::uint64_t sends, std::uint64_t receives)
      : comm_(context.comm), peer_(1 - context.rank), requests_(sends + receives) {}

  void send(const char* data, int bytes) { MPI_Send(data, bytes, MPI_BYTE, peer_, kTag, comm_); }
  void receive(char* data, int bytes) {
    MPI_Recv(data, bytes, MPI_BYTE, peer_, kTag, comm_, MPI_STATUS_IGNORE);
  }
  void exchange(const char* out, char* in, int bytes) {
    MPI_Sendrecv(out, bytes, MPI_BYTE, peer_, kTag, in, bytes, MPI_BYTE, peer_, kTag, comm_,
                 MPI_STATUS_IGNORE);
  }

  void begin_send(const char* data, int bytes) {
    MPI_Isend(data, bytes, MPI_BYTE, peer_, kTag, comm_, &requests_[open_++]);
  }
  void begin_receive(char* data, int bytes) {
    MPI_Irecv(data, bytes, MPI_BYTE, peer_, kTag, comm_, &requests_[open_++]);
  }
  // Until all that was begun has gone out and is in its place.
  void finish() {
    MPI_Waitall(open_, requests_.data(), MPI_STATUSES_IGNORE);
    open_ = 0;
  }
  // The same where one message was begun.
  void finish_one() {
    MPI_Wait(requests_.data(), MPI_STATUS_IGNORE);
    open_ = 0;
  }

 private:
  static constexpr int kTag = 1;

  MPI_Comm comm_;
  int peer_;
  std::vector<MPI_Request> requests_;
  int open_ = 0;
};

}  // namespace nearpeak
