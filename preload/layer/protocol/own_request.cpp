// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/own_request.hpp"

namespace nearpeak::layer {
namespace {

constexpr MessageStatus kNothingReceived{.source = MPI_UNDEFINED, .tag = MPI_UNDEFINED, .bytes = 0};

// MPICH asks for that of each send twice.
void write_nothing_received(MPI_Status& to) {
  static const MPI_Status written = [] {
    MPI_Status status{};
    write_status(kNothingReceived, status);
    return status;
  }();
  const int error = to.MPI_ERROR;
  to = written;
  to.MPI_ERROR = error;
}

int tell_status(void* received, MPI_Status* status) {
  if (received == nullptr)
    write_nothing_received(*status);
  else
    write_status(*static_cast<const MessageStatus*>(received), *status);
  return MPI_SUCCESS;
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

}  // namespace

int start_own_request(MessageStatus* status, MPI_Request* request) {
  return NEARPEAK_REAL(MPI_Grequest_start)(tell_status, free_nothing, cancel_nothing, status,
                                           request);
}

void complete_own_request(MPI_Request request) { NEARPEAK_REAL(MPI_Grequest_complete)(request); }

void write_status(const MessageStatus& from, MPI_Status& to) {
  to.MPI_SOURCE = from.source;
  to.MPI_TAG = from.tag;
  NEARPEAK_REAL(MPI_Status_set_cancelled)(&to, 0);
  NEARPEAK_REAL(MPI_Status_set_elements_x)(&to, calls::byte_type(), from.bytes);
}

}  // namespace nearpeak::layer
