// SPDX-License-Identifier: Apache-2.0
#include "layer/receive.hpp"

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

// The application may free it before it is used.
void hold_type(Operation& operation) {
  if (operation.target.dense) return;
  NEARPEAK_REAL(MPI_Type_dup)(operation.target.type, &operation.target.type);
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
  target.place = world.devices.locate(in.data, in.found);
  become_able(target.place.device);
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

bool may_be_begun_elsewhere(MPI_Count n, MPI_Datatype type) {
  return !world.able.load() || room_of(n, type) < kEnvelopeBytes || type_of(type).dense;
}

Elements begun_elsewhere(MPI_Count n, MPI_Datatype type) {
  const std::size_t room = room_of(n, type);
  if (room < kEnvelopeBytes || room > INT_MAX || !type_of(type).dense) return {n, type};
  return {static_cast<MPI_Count>(room), calls::byte_type()};
}

void keep_begun(const Incoming& in, MPI_Comm comm, MPI_Request request) {
  const Guard guard;
  if (room_of(in.n, in.type) < kEnvelopeBytes) return;
  auto operation = receiving(in, comm);
  operation->blind = !operation->target.dense;
  keep_posted(std::move(operation), request);
}

int keep_done(std::unique_ptr<Operation> operation, MPI_Request* request) {
  operation->kind = Operation::Kind::kHeld;
  const int code = NEARPEAK_REAL(MPI_Grequest_start)(tell_status, free_nothing, cancel_nothing,
                                                     operation.get(), request);
  if (code != MPI_SUCCESS) return code;
  keep(std::move(operation), *request);
  return NEARPEAK_REAL(MPI_Grequest_complete)(*request);
}

int end_unkept(Operation& operation, MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) tell_status(&operation, status);
  return operation.error == MPI_SUCCESS ? MPI_SUCCESS : raise(operation.comm, operation.error);
}

}  // namespace nearpeak::layer
