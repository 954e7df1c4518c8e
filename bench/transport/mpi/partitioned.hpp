// SPDX-License-Identifier: Apache-2.0
// Partitioned messages (MPI 4, chapter 4): a request of several parts, each of which the sender
// says to be ready. Not every library has them, nor every mpi.h.
#pragma once

#include <mpi.h>

#include <string>

#include "transport/mpi/persistent.hpp"

extern "C" {
__attribute__((weak)) int MPI_Psend_init(const void*, int, MPI_Count, MPI_Datatype, int, int,
                                         MPI_Comm, MPI_Info, MPI_Request*);
__attribute__((weak)) int MPI_Precv_init(void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
                                         MPI_Info, MPI_Request*);
__attribute__((weak)) int MPI_Pready(int, MPI_Request);
}

namespace nearpeak {

inline bool has_partitioned() {
  return MPI_Psend_init != nullptr && MPI_Precv_init != nullptr && MPI_Pready != nullptr;
}

// Messages that all have as many bytes as was asked for, in equal parts, one after the other ready.
class Partitioned final : public Transport {
 public:
  Partitioned(MPI_Comm comm, const Messages& messages, const Buffers& buffers, int parts)
      : parts_(parts),
        sends_(messages, messages.sends,
               [&](std::size_t slot, MPI_Request& request) {
                 MPI_Psend_init(buffers.out.slot(slot), parts, count(messages), MPI_BYTE,
                                messages.peer, kTag, comm, MPI_INFO_NULL, &request);
               }),
        receives_(messages, messages.receives,
                  [&](std::size_t slot, MPI_Request& request) {
                    MPI_Precv_init(buffers.in.slot(slot), parts, count(messages), MPI_BYTE,
                                   messages.peer, kTag, comm, MPI_INFO_NULL, &request);
                  }),
        started_(2 * messages.window) {}

  void begin_send(std::size_t slot, std::size_t) override {
    MPI_Request& request = sends_.next(slot);
    started_.start(request);
    for (int part = 0; part < parts_; ++part) MPI_Pready(part, request);
  }
  void begin_receive(std::size_t slot, std::size_t) override {
    started_.start(receives_.next(slot));
  }
  void finish() override {
    started_.finish();
    sends_.finish();
    receives_.finish();
  }

 private:
  static constexpr int kTag = 2;

  MPI_Count count(const Messages& messages) const {
    return static_cast<MPI_Count>(messages.bytes) / parts_;
  }

  const int parts_;
  RequestsOfSlots sends_;
  RequestsOfSlots receives_;
  Started started_;
};

}  // namespace nearpeak
