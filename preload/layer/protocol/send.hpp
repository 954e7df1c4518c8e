// SPDX-License-Identifier: Apache-2.0
// Sends from a device. Each form of MPI's says by `begin` how it is begun from host memory:
// begin(data, request).
#pragma once

#include <memory>
#include <utility>

#include "layer/protocol/advance.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/host.hpp"
#include "layer/protocol/messages.hpp"
#include "layer/protocol/operations.hpp"
#include "layer/protocol/slow.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Fills in the rest.
void locate(Outgoing& message);
// Sends an envelope in its place; null where it is to go through host memory.
OfferedSend* offer(const Outgoing& message, Mode mode);
// The same of a long message from host memory that its receiver expects.
OfferedSend* offer_from_host(Outgoing& message, Mode mode);
// The data in host memory; all between as well, where its type has gaps.
HostMemory staged(const Outgoing& message);
// What a send is given in the place of the buffer.
inline const void* begin_of(const HostMemory& memory, const Outgoing& message) {
  return memory.get() - message.span.low;
}
// Waits for one without a request.
void await_offered(OfferedSend& send);
int keep_offered_by_request(OfferedSend& send, MPI_Request* request);
void keep_persistent(HostMemory memory, const Outgoing& message, MPI_Request request);
void keep_staged(HostMemory memory, MPI_Comm comm, MPI_Request request);

// Where nothing is sent of a buffer that the MPI library may look at all the same.
inline bool moves_nothing(const Outgoing& message) {
  return message.to == MPI_PROC_NULL || message.span.bytes() == 0;
}
inline constexpr char kNoData[8] = "";

template <typename Begin>
int send_later(Outgoing message, Mode mode, MPI_Request* request, const Begin& begin) {
  const Guard guard;
  locate(message);
  if (moves_nothing(message)) return begin(static_cast<const void*>(kNoData), request);
  if (OfferedSend* const offered = offer(message, mode))
    return keep_offered_by_request(*offered, request);
  note_staged(message, mode);
  HostMemory memory = staged(message);
  const int code = begin(begin_of(memory, message), request);
  if (code == MPI_SUCCESS) keep_staged(std::move(memory), message.comm, *request);
  return code;
}

template <typename Begin>
int send(Outgoing message, Mode mode, const Begin& begin) {
  MPI_Request request{};
  HostMemory memory;
  OfferedSend* offered = nullptr;
  {
    const Guard guard;
    locate(message);
    message.waits = true;
    const void* from = kNoData;
    if (!moves_nothing(message)) {
      offered = offer(message, mode);
      if (offered == nullptr) {
        note_staged(message, mode);
        memory = staged(message);
      }
      from = begin_of(memory, message);
    }
    const int code = offered == nullptr ? begin(from, &request) : MPI_SUCCESS;
    if (code != MPI_SUCCESS) return code;
  }
  if (offered == nullptr) return wait(&request, MPI_STATUS_IGNORE);
  await_offered(*offered);
  return MPI_SUCCESS;
}

// A persistent one: at each start the data is copied into host memory and sent from there.
template <typename Begin>
int send_again(Outgoing message, MPI_Request* request, const Begin& begin) {
  const Guard guard;
  locate(message);
  if (moves_nothing(message)) return begin(static_cast<const void*>(kNoData), request);
  HostMemory memory = host_memory_of(message.span.bytes());
  const int code = begin(begin_of(memory, message), request);
  if (code == MPI_SUCCESS) keep_persistent(std::move(memory), message, *request);
  return code;
}

// From host memory: envelopes are taken while it waits.
template <typename Begin, typename Now>
int send_from_host(Outgoing message, Mode mode, const Begin& begin, const Now& now) {
  if (message.found.managed) {
    const Guard guard;
    note_managed(message);
  }
  if (is_expected()) {
    OfferedSend* offered = nullptr;
    {
      const Guard guard;
      offered = offer_from_host(message, mode);
    }
    if (offered != nullptr) {
      await_offered(*offered);
      return MPI_SUCCESS;
    }
  }
  // To nobody it waits for nothing: where the communicator was revoked it alone says so.
  if (message.to == MPI_PROC_NULL) return now();
  InLibrary in_library;
  bool is_alone = false;
  {
    const Guard guard;
    is_alone = !busy();
    if (is_alone) in_library.begin();
  }
  if (is_alone) return now();
  MPI_Request request{};
  const int code = begin(message.data, &request);
  return code == MPI_SUCCESS ? wait(&request, MPI_STATUS_IGNORE) : code;
}

template <typename Begin>
int send_later_from_host(Outgoing message, Mode mode, MPI_Request* request, const Begin& begin) {
  if (message.found.managed) {
    const Guard guard;
    note_managed(message);
  }
  if (is_expected()) {
    const Guard guard;
    if (OfferedSend* const offered = offer_from_host(message, mode))
      return keep_offered_by_request(*offered, request);
  }
  return begin(message.data, request);
}

}  // namespace nearpeak::layer
