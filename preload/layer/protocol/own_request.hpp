// SPDX-License-Identifier: Apache-2.0
// Requests that the layer makes for the application, and completes itself.
#pragma once

#include "layer/protocol/messages.hpp"

namespace nearpeak::layer {

// `status`: of the message that is received, known when the request is completed, and there until
// the request is freed; null for a send. Returns the error of MPI_Grequest_start.
int start_own_request(MessageStatus* status, MPI_Request* request);
void complete_own_request(MPI_Request request);
void write_status(const MessageStatus& from, MPI_Status& to);

}  // namespace nearpeak::layer
