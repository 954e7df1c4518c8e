// SPDX-License-Identifier: Apache-2.0
// Calls that send and receive.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "layer/datatype/types.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/protocol/receive.hpp"

namespace nearpeak::layer {

// Whether sendrecv_later() has begun some that are not complete.
bool have_sendrecvs();
// Completes those of which both parts are.
void advance_sendrecvs();
int keep_sendrecv(std::unique_ptr<Operation> operation, MPI_Request* request);

// Begins a receive and a send, and waits for both.
template <typename Receive, typename Send>
int sendrecv(const Receive& receive, const Send& send, MPI_Status* status) {
  std::array<MPI_Request, 2> requests{calls::request_null(), calls::request_null()};
  int code = receive(&requests[0]);
  if (code == MPI_SUCCESS) code = send(&requests[1]);
  if (code != MPI_SUCCESS) return code;
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

// The same with a request for both, which `copy` is kept for. The layer completes it.
template <typename Receive, typename Send>
int sendrecv_later(HostMemory copy, MPI_Comm comm, MPI_Request* request, const Receive& receive,
                   const Send& send) {
  const Guard guard;
  auto operation = std::make_unique<Operation>();
  operation->kind = Operation::Kind::kSendrecv;
  operation->comm = comm;
  operation->memory = std::move(copy);
  operation->parts.fill(calls::request_null());
  int code = receive(&operation->parts[0]);
  if (code == MPI_SUCCESS) code = send(&operation->parts[1]);
  return code == MPI_SUCCESS ? keep_sendrecv(std::move(operation), request) : code;
}

}  // namespace nearpeak::layer
