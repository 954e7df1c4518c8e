// SPDX-License-Identifier: Apache-2.0
// Probes, and messages that one has found to be envelopes: they are received to look at them, and
// held until somebody receives them, together with those of the same rank that came before, unless
// there are persistent receives.
#pragma once

#include <memory>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

int probe(int from, int tag, MPI_Comm comm, MPI_Status* status);
int probe_now(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int matched_probe(int from, int tag, MPI_Comm comm, MPI_Message* one, MPI_Status* status);
int matched_probe_now(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* one,
                      MPI_Status* status);

// Whether any message is held.
bool holds_any();
// Receives the first that fits; null where none does, or the MPI library still has it.
std::unique_ptr<HeldReceive> receive_held(const Target& target, const Origin& origin);
// In the second case: by what it is received; message_null() where none fits.
MPI_Message take_held_message(const Origin& origin);
// Ends the job where one fits a persistent receive that is to be started: its request is the MPI
// library's, which has not got the message.
void check_not_held(const Origin& origin);

// Receives a message that a matched probe has given; null where it is the MPI library's own.
std::unique_ptr<HeldReceive> receive_matched(const Target& target, MPI_Message* one);

}  // namespace nearpeak::layer
