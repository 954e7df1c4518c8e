// SPDX-License-Identifier: Apache-2.0
// Calls that send and receive.
#pragma once

#include <array>

#include "layer/complete.hpp"
#include "layer/operations.hpp"
#include "layer/receive.hpp"

namespace nearpeak::layer {

// Begins a receive and a send, and waits for both.
template <typename Receive, typename Send>
int both(const Receive& receive, const Send& send, MPI_Status* status) {
  std::array<MPI_Request, 2> requests{calls::request_null(), calls::request_null()};
  int code = receive(&requests[0]);
  if (code == MPI_SUCCESS) code = send(&requests[1]);
  if (code != MPI_SUCCESS) return code;
  // One after the other, so that an error is that of the receive: each takes what the other needs.
  code = wait(&requests[1], MPI_STATUS_IGNORE);
  const int received = wait(&requests[0], status);
  return code == MPI_SUCCESS ? received : code;
}

// What is sent from memory that something else is received into.
struct Copy {
  HostMemory memory;
  const void* data = nullptr;
  MPI_Count n = 0;
  MPI_Datatype type{};
};
int copy_of(const char* call, const void* data, const Found& found, MPI_Count n, MPI_Datatype type,
            MPI_Comm comm, Copy& copy);

}  // namespace nearpeak::layer
