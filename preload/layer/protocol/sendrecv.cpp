// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/sendrecv.hpp"

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "layer/datatype/types.hpp"
#include "layer/protocol/send.hpp"

namespace nearpeak::layer {
namespace {

struct AllSendrecvs {
  std::vector<Operation*> begun;  // that are not complete
  bool advancing = false;
};
AllSendrecvs& sendrecvs = *new AllSendrecvs;

// Asks after a part; what is found of the receive is the status of both.
void look_at(Operation& operation, std::size_t part) {
  MPI_Request& request = operation.parts[part];
  if (request == calls::request_null()) return;
  MPI_Status status;
  int done = 0;
  const int code = test(&request, &done, &status);
  if (code != MPI_SUCCESS) operation.error = code;
  if (done == 0 || part != 0) return;
  operation.source = status.MPI_SOURCE;
  operation.tag = status.MPI_TAG;
  operation.bytes = static_cast<MPI_Count>(bytes_of(status));
}

bool is_done(const Operation& operation) {
  return operation.parts[0] == calls::request_null() && operation.parts[1] == calls::request_null();
}

}  // namespace

bool have_sendrecvs() { return !sendrecvs.begun.empty(); }

void advance_sendrecvs() {
  // Who asks after a part advances all.
  if (std::exchange(sendrecvs.advancing, true)) return;
  for (std::size_t i = 0; i < sendrecvs.begun.size();) {
    Operation& operation = *sendrecvs.begun[i];
    for (const std::size_t part : {0U, 1U}) look_at(operation, part);
    if (!is_done(operation)) {
      ++i;
      continue;
    }
    sendrecvs.begun.erase(sendrecvs.begun.begin() + static_cast<std::ptrdiff_t>(i));
    NEARPEAK_REAL(MPI_Grequest_complete)(operation.request);
  }
  sendrecvs.advancing = false;
}

int keep_sendrecv(std::unique_ptr<Operation> operation, MPI_Request* request) {
  Operation& kept = *operation;
  const int code = keep_by_own_request(std::move(operation), request);
  if (code == MPI_SUCCESS) sendrecvs.begun.push_back(&kept);
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
