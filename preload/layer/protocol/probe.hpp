// SPDX-License-Identifier: Apache-2.0
// Probes, and messages that one has found to be envelopes: they are received to look at them, and
// held until somebody receives them.
#pragma once

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

int probe(int from, int tag, MPI_Comm comm, MPI_Status* status);
int probe_now(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int matched_probe(int from, int tag, MPI_Comm comm, MPI_Message* one, MPI_Status* status);
int matched_probe_now(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* one,
                      MPI_Status* status);

// Whether any message is held.
bool holds_any();
// The first that fits is received into the operation, which is told its source and tag. False
// where none fits.
bool receive_held(Operation& operation, int from, int tag, MPI_Comm comm);
// Ends the job where one fits a persistent receive that is started: its request is the MPI
// library's, which has not got the message.
void check_not_held(const Operation& operation);

// The same of a message that a matched probe has given. False where it is the MPI library's own.
bool receive_matched(Operation& operation, MPI_Message* one);

}  // namespace nearpeak::layer
