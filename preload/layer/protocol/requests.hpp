// SPDX-License-Identifier: Apache-2.0
// The operations that the application has requests for. Who calls holds the guard.
#pragma once

#include <memory>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

// The operation of a request; null where the layer has nothing to do with it.
Operation* known(MPI_Request request);
// Whether a request is complete already: such ones share a handle in some libraries, by which
// nothing can be kept.
bool is_complete(MPI_Request request);
// Keeps an operation by its request, until finished() or free_request().
void keep(std::unique_ptr<Operation> operation, MPI_Request request);
// The same of one that is kept without a request, or whose request the library has given another
// handle.
void keep_by(Operation& operation, MPI_Request request);

// The MPI library says that the request is complete: puts the data of a receive, or of a call
// between shadows, in its place.
void settle(Operation& operation, const MPI_Status& status);
// The same for a request that stays: the message is there then, and the status says so.
void note_complete(Operation& operation, MPI_Status& status);
// The request of an operation was completed with this error by the MPI library: what is left is
// done, the status corrected if the application asked for it, the record dropped. Returns the error
// of the operation.
int finished(Operation& operation, MPI_Status& status, int error, bool asked_for = true);

// MPI_Request_free of a request that is known.
void free_request(Operation& operation);
// Whether some are freed that are not complete.
bool have_freed();
void advance_freed();
// Whether a communicator is none any more, of those that are under way.
void note_comm_freed(MPI_Comm comm, bool freed);

}  // namespace nearpeak::layer
