// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/requests.hpp"

#include <cstdint>
#include <vector>

#include "layer/protocol/deliver.hpp"
#include "layer/protocol/offered.hpp"
#include "layer/protocol/own_request.hpp"
#include "layer/protocol/request_table.hpp"
#include "layer/protocol/short_receives.hpp"
#include "layer/protocol/taken.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {
namespace {

struct Requests {
  RequestTable<MPI_Request, Operation> table;
  std::uint64_t freed = 0;  // by the application, and not yet complete
};
Requests& requests = *new Requests;

// What has no request any more.
void drop(Operation& operation) {
  if (auto* const send = as<OfferedSend>(&operation)) return release_request(*send);
  if (auto* const receive = as<Receive>(&operation)) await_message(*receive);
  delete &operation;
}

void write_back(ShadowedCall& call) {
  if (!call.started || call.written_back) return;
  for (HostShadow& shadow : call.shadows) shadow.write_back();
  if (call.shared) write_back_once(*call.shared);
  call.written_back = true;
}

// The MPI library has received too much, or nothing. Of what was too long for an envelope as well,
// it has that much.
void end_wrong(PostedReceive& receive, int error) {
  close_receive(receive);
  if (receive.host && is_short(receive.target) && class_of(error) == MPI_ERR_TRUNCATE)
    put(receive, receive.host.get(), kEnvelopeBytes);
}

// Of those that the application has freed.
void end_freed(Operation& operation) {
  MPI_Request request = operation.request;
  int done = 0;
  MPI_Status status;
  NEARPEAK_REAL(MPI_Request_get_status)(request, &done, &status);
  if (done == 0) return;
  settle(operation, status);
  auto* const receive = as<Receive>(&operation);
  if (receive != nullptr && receive->is_arriving()) return;
  requests.table.drop(request);
  NEARPEAK_REAL(MPI_Request_free)(&request);
  --requests.freed;
  drop(operation);
}

}  // namespace

Operation* known(MPI_Request request) { return requests.table.find(request); }

bool is_complete(MPI_Request request) {
  int done = 0;
  NEARPEAK_REAL(MPI_Request_get_status)(request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

void keep(std::unique_ptr<Operation> operation, MPI_Request request) {
  keep_by(*operation.release(), request);
}

void keep_by(Operation& operation, MPI_Request request) {
  if (operation.has_request && operation.request == request) return;
  if (operation.has_request) requests.table.drop(operation.request);
  operation.request = request;
  operation.has_request = true;
  // One that was completed by a call that passed by: the MPI library has given its handle again.
  Operation* const lost = requests.table.put(request, &operation);
  if (lost == nullptr) return;
  if (auto* const receive = as<PostedReceive>(lost)) close_receive(*receive);
  drop(*lost);
}

void settle(Operation& operation, const MPI_Status& status) {
  if (auto* const receive = as<PostedReceive>(&operation))
    settle(*receive, status);
  else if (auto* const call = as<ShadowedCall>(&operation))
    write_back(*call);
}

void note_complete(Operation& operation, MPI_Status& status) {
  settle(operation, status);
  auto* const receive = as<Receive>(&operation);
  if (receive == nullptr) return;
  await_message(*receive);
  if (receive->started) correct(*receive, status);
}

int finished(Operation& operation, MPI_Status& status, int error, bool asked_for) {
  if (operation.persistent && !operation.started) return error;
  if (error == MPI_SUCCESS)
    settle(operation, status);
  else if (auto* const posted = as<PostedReceive>(&operation))
    end_wrong(*posted, error);
  else if (as<ShortReceive>(&operation) != nullptr)
    decline_short_envelopes();  // in MPI with fault tolerance it may be under way still
  if (auto* const receive = as<Receive>(&operation)) {
    await_message(*receive);
    if (asked_for) correct(*receive, status);
  }
  const int own = error == MPI_SUCCESS ? operation.error : error;
  if (operation.persistent) {
    operation.started = false;
    return own;
  }
  requests.table.drop(operation.request);
  drop(operation);
  return own;
}

void free_request(Operation& operation) {
  if (auto* const send = as<OfferedSend>(&operation)) {
    MPI_Request request = send->request;
    if (!send->complete) complete_own_request(request);
    requests.table.drop(request);
    NEARPEAK_REAL(MPI_Request_free)(&request);
    return release_request(*send);
  }
  if (as<ShortReceive>(&operation) != nullptr) {  // nobody will know when it is complete
    decline_short_envelopes();
    MPI_Request request = operation.request;
    requests.table.drop(request);
    NEARPEAK_REAL(MPI_Request_free)(&request);
    return drop(operation);
  }
  operation.request_freed = true;
  ++requests.freed;
  end_freed(operation);
}

bool have_freed() { return requests.freed > 0; }

void advance_freed() {
  std::vector<Operation*> freed;
  requests.table.each([&](Operation& operation) {
    if (operation.request_freed) freed.push_back(&operation);
  });
  for (Operation* const operation : freed) end_freed(*operation);
}

void note_comm_freed(MPI_Comm comm, bool freed) {
  const Guard guard;
  requests.table.each([&](Operation& operation) {
    if (operation.comm == comm) operation.comm_freed = freed;
  });
}

}  // namespace nearpeak::layer
