// SPDX-License-Identifier: Apache-2.0
// Sends from a device. Each form of MPI's says by `begin` how it is begun from host memory:
// begin(data, request).
#pragma once

#include <memory>
#include <utility>

#include "layer/complete.hpp"
#include "layer/operations.hpp"
#include "layer/world.hpp"

namespace nearpeak::layer {

// A message.
struct Outgoing {
  const void* data;
  MPI_Count n;
  MPI_Datatype type;
  int to;
  int tag;
  MPI_Comm comm;
  std::size_t bytes = 0;
  Located place{};
};

// Which sends may go by an envelope: those that may be complete before they are received.
enum class Mode { kUsual, kHostMemory };

// Fills in the rest; false and an error, which was raised, for a type with gaps.
bool located(const char* call, Outgoing& message, int& error);
// Sends an envelope in its place; null where it is to go through host memory.
Operation* offer(const Outgoing& message, Mode mode);
// The data in host memory.
HostMemory staged(const Outgoing& message);
// Waits for one without a request.
void await_offered(Operation& operation);
int keep_offered_by_request(Operation& operation, MPI_Request* request);
void keep_persistent(HostMemory memory, const Outgoing& message, MPI_Request request);
void keep_staged(HostMemory memory, MPI_Comm comm, MPI_Request request);

// Where nothing is sent of a buffer that the MPI library may look at all the same.
inline bool moves_nothing(const Outgoing& message) {
  return message.to == MPI_PROC_NULL || message.bytes == 0;
}
inline constexpr char kNoData[8] = "";

template <typename Begin>
int send_later(const char* call, Outgoing message, Mode mode, MPI_Request* request,
               const Begin& begin) {
  const Guard guard;
  int error = MPI_SUCCESS;
  if (!located(call, message, error)) return error;
  if (moves_nothing(message)) return begin(static_cast<const void*>(kNoData), request);
  if (Operation* const operation = offer(message, mode))
    return keep_offered_by_request(*operation, request);
  HostMemory memory = staged(message);
  const int code = begin(static_cast<const void*>(memory.get()), request);
  if (code == MPI_SUCCESS) keep_staged(std::move(memory), message.comm, *request);
  return code;
}

template <typename Begin>
int send(const char* call, Outgoing message, Mode mode, const Begin& begin) {
  MPI_Request request{};
  HostMemory memory;
  Operation* offered = nullptr;
  {
    const Guard guard;
    int code = MPI_SUCCESS;
    if (!located(call, message, code)) return code;
    const void* from = kNoData;
    if (!moves_nothing(message)) {
      offered = offer(message, mode);
      if (offered == nullptr) memory = staged(message);
      from = memory.get();
    }
    if (offered == nullptr) code = begin(from, &request);
    if (code != MPI_SUCCESS) return code;
  }
  if (offered == nullptr) return wait(&request, MPI_STATUS_IGNORE);
  await_offered(*offered);
  return MPI_SUCCESS;
}

// A persistent one: at each start the data is copied into host memory and sent from there.
template <typename Begin>
int send_again(const char* call, Outgoing message, MPI_Request* request, const Begin& begin) {
  const Guard guard;
  int error = MPI_SUCCESS;
  if (!located(call, message, error)) return error;
  if (moves_nothing(message)) return begin(static_cast<const void*>(kNoData), request);
  HostMemory memory = host_memory_of(message.bytes);
  const int code = begin(static_cast<const void*>(memory.get()), request);
  if (code == MPI_SUCCESS) keep_persistent(std::move(memory), message, *request);
  return code;
}

// From host memory: envelopes are taken while it waits.
template <typename Begin, typename Now>
int send_from_host(const void* data, const Begin& begin, const Now& now) {
  if (!busy()) return now();
  MPI_Request request{};
  const int code = begin(data, &request);
  return code == MPI_SUCCESS ? wait(&request, MPI_STATUS_IGNORE) : code;
}

}  // namespace nearpeak::layer
