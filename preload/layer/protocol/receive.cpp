// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/receive.hpp"

#include "layer/protocol/opening.hpp"

namespace nearpeak::layer {
namespace {

// A request that the layer completes itself, for what is known of it then.

int tell_status(void* state, MPI_Status* status) {
  const auto& operation = *static_cast<const Operation*>(state);
  status->MPI_SOURCE = operation.source;
  status->MPI_TAG = operation.tag;
  NEARPEAK_REAL(MPI_Status_set_cancelled)(status, 0);
  return NEARPEAK_REAL(MPI_Status_set_elements_x)(status, calls::byte_type(), operation.bytes);
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

// The application may free it before it is used. Not MPI_Type_dup, which calls what the application
// has given to copy its attributes.
void hold_type(Operation& operation) {
  if (operation.target.dense || is_being_freed(operation.target.type)) return;
  NEARPEAK_REAL(MPI_Type_contiguous)(1, operation.target.type, &operation.target.type);
  NEARPEAK_REAL(MPI_Type_commit)(&operation.target.type);
  operation.owns_type = true;
}

}  // namespace

std::unique_ptr<Operation> receiving(const Incoming& in, MPI_Comm comm) {
  auto operation = std::make_unique<Operation>();
  operation->comm = comm;
  Target& target = operation->target;
  target.data = in.data;
  target.n = in.n;
  target.type = in.type;
  target.room = room_of(in.n, in.type);
  target.dense = type_of(in.type).dense;
  target.on_device = in.found.on_device;
  if (!target.on_device) return operation;
  target.place = world.devices.locate(in.found);
  accept_envelopes(target.place.device);
  return operation;
}

void keep_posted(std::unique_ptr<Operation> operation, MPI_Request request) {
  hold_type(*operation);
  Operation& kept = keep(std::move(operation), request);
  if (kept.persistent)
    kept.active = false;
  else
    open_receive(kept);
}

int keep_by_own_request(std::unique_ptr<Operation> operation, MPI_Request* request) {
  const int code = NEARPEAK_REAL(MPI_Grequest_start)(tell_status, free_nothing, cancel_nothing,
                                                     operation.get(), request);
  if (code == MPI_SUCCESS) keep(std::move(operation), *request);
  return code;
}

int keep_done(std::unique_ptr<Operation> operation, MPI_Request* request) {
  operation->kind = Operation::Kind::kHeld;
  const bool later = is_arriving(*operation);
  if (later) hold_type(*operation);
  const int code = keep_by_own_request(std::move(operation), request);
  return code == MPI_SUCCESS && !later ? NEARPEAK_REAL(MPI_Grequest_complete)(*request) : code;
}

int end_unkept(Operation& operation, MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) tell_status(&operation, status);
  return operation.error == MPI_SUCCESS ? MPI_SUCCESS : raise(operation.comm, operation.error);
}

}  // namespace nearpeak::layer
