// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/sendrecv.hpp"

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "layer/datatype/types.hpp"
#include "layer/protocol/advance.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/requests.hpp"
#include "layer/protocol/send.hpp"

namespace nearpeak::layer {
namespace {

struct AllSendrecvs {
  std::vector<SendReceive*> begun;  // that are not complete
  bool advancing = false;
};
AllSendrecvs& sendrecvs = *new AllSendrecvs;

// Asks after the receive; what is found of it is the status of both.
void look_at_receive(SendReceive& both) {
  if (both.receiving == calls::request_null()) return;
  MPI_Status status;
  int done = 0;
  const int code = test(&both.receiving, &done, &status);
  if (code != MPI_SUCCESS) both.error = code;
  if (done == 0) return;
  both.status = {.source = status.MPI_SOURCE,
                 .tag = status.MPI_TAG,
                 .bytes = static_cast<MPI_Count>(bytes_of(status))};
}

void look_at_send(SendReceive& both) {
  if (both.sending == calls::request_null()) return;
  int done = 0;
  const int code = test(&both.sending, &done, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) both.error = code;
}

bool is_done(const SendReceive& both) {
  return both.receiving == calls::request_null() && both.sending == calls::request_null();
}

// Completes those that are done. Whether some are left.
bool advance_sendrecvs() {
  // Who asks after a part advances all.
  if (std::exchange(sendrecvs.advancing, true)) return true;
  for (std::size_t i = 0; i < sendrecvs.begun.size();) {
    SendReceive& both = *sendrecvs.begun[i];
    look_at_receive(both);
    look_at_send(both);
    if (!is_done(both)) {
      ++i;
      continue;
    }
    sendrecvs.begun.erase(sendrecvs.begun.begin() + static_cast<std::ptrdiff_t>(i));
    complete_own_request(both.request);
  }
  sendrecvs.advancing = false;
  return !sendrecvs.begun.empty();
}

}  // namespace

int keep_sendrecv(std::unique_ptr<SendReceive> both, MPI_Request* request) {
  SendReceive& kept = *both;
  const int code = start_own_request(&kept.status, request);
  if (code != MPI_SUCCESS) return code;
  keep(std::move(both), *request);
  sendrecvs.begun.push_back(&kept);
  advance_with(advance_sendrecvs);
  return code;
}

Copy copy_of(const void* data, const Found& found, MPI_Count n, MPI_Datatype type, MPI_Comm comm) {
  const Guard guard;
  if (found.on_device) {
    Outgoing message{data, n, type, 0, 0, comm, found};
    locate(message);
    HostMemory memory = staged(message);
    const void* const at = begin_of(memory, message);
    return {std::move(memory), at, Elements(n, type)};
  }
  const std::size_t bytes = room_of(n, type);
  HostMemory memory = host_memory_of(bytes);
  const void* const at = memory.get();
  if (bytes == 0 || type_of(type).dense) {
    std::memcpy(memory.get(), data, bytes);
    return {std::move(memory), at, Elements(n, type)};
  }
  const auto packed = static_cast<MPI_Count>(bytes);
  convert(data, n, type, memory.get(), packed, calls::byte_type());
  return {std::move(memory), at, Elements(packed, calls::byte_type())};
}

}  // namespace nearpeak::layer
