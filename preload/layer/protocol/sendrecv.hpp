// SPDX-License-Identifier: Apache-2.0
// Calls that send and receive.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "layer/datatype/types.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/messages.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Ends a receive whose send was not begun.
inline void drop_receive(MPI_Request& request) {
  if (request == calls::request_null()) return;
  NEARPEAK_REAL(MPI_Cancel)(&request);
  wait(&request, MPI_STATUS_IGNORE);
}

// Gives it a request, which is complete when both of its own are.
int keep_sendrecv(std::unique_ptr<SendReceive> both, MPI_Request* request);

// Begins a receive and a send, and waits for both.
template <typename BeginReceive, typename BeginSend>
int sendrecv(const BeginReceive& receive, const BeginSend& send, MPI_Status* status) {
  std::array<MPI_Request, 2> requests{calls::request_null(), calls::request_null()};
  int code = receive(&requests[0]);
  if (code == MPI_SUCCESS) code = send(&requests[1]);
  if (code != MPI_SUCCESS) {
    drop_receive(requests[0]);
    return code;
  }
  // One after the other, so that an error is that of the receive: each takes what the other needs.
  code = wait(&requests[1], MPI_STATUS_IGNORE);
  const int received = wait(&requests[0], status);
  return code == MPI_SUCCESS ? received : code;
}

// What is sent, in host memory of the layer's.
struct Copy {
  HostMemory memory;
  const void* data;
  Elements elements;
};
Copy copy_of(const void* data, const Found& found, MPI_Count n, MPI_Datatype type, MPI_Comm comm);

// The same with a request for both, which `copy` is kept for.
template <typename BeginReceive, typename BeginSend>
int sendrecv_later(HostMemory copy, MPI_Comm comm, MPI_Request* request,
                   const BeginReceive& receive, const BeginSend& send) {
  const Guard guard;
  auto both = std::make_unique<SendReceive>(std::move(copy), comm);
  int code = receive(&both->receiving);
  if (code == MPI_SUCCESS) code = send(&both->sending);
  if (code == MPI_SUCCESS) return keep_sendrecv(std::move(both), request);
  drop_receive(both->receiving);
  return code;
}

}  // namespace nearpeak::layer
