// SPDX-License-Identifier: Apache-2.0
// Messages that are given to a stream of a device, in order with its kernels: an extension of MPICH
// (MPIX streams), which not every library has, nor every mpi.h.
#pragma once

#include <mpi.h>

#include "benchmark/benchmark.hpp"

namespace nearpeak {

// A communicator whose messages go in order with a stream.
class StreamComm {
 public:
  // Collective. Throws Unfit on all ranks where the library cannot.
  StreamComm(Group& group, MPI_Comm comm, Stream& stream);
  ~StreamComm();
  StreamComm(const StreamComm&) = delete;
  StreamComm& operator=(const StreamComm&) = delete;

  // They return at once; what is sent and received is there when the stream is synchronised.
  void send(const void* data, int bytes, int peer);
  void receive(void* data, int bytes, int peer);

 private:
  void release();

  static constexpr int kTag = 4;
#ifdef MPIX_STREAM_NULL
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPIX_Stream stream_ = MPIX_STREAM_NULL;
#endif
};

}  // namespace nearpeak
