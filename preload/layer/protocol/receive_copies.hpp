// SPDX-License-Identifier: Apache-2.0
// Copies of received messages that go on while a rank looks for further ones: long ones by the copy
// engine, others gathered into batches, each for one kernel. Who calls holds the guard.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layer/protocol/operations.hpp"

namespace nearpeak::layer {

// Memory of a device that a sender offers, as this process reaches it.
struct OfferedData {
  Located place;
  const char* data;
  std::uint32_t rank;  // of the sender
};

// Begins the copy of a message between devices by the copy engine. Its slot is done when the copy
// has ended.
void begin_copy(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes);
// Leaves such a copy to the next batch. False where no kernel does it.
bool gather_copy(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes);
// The same of a message from a device to the host: its slot is done when it has left the device.
bool gather_copy_to_host(Receive& receive, Slot& slot, const OfferedData& from, std::size_t bytes);
// Begins the copy to a device, or leaves it to the next batch, of what has come into the receive's
// host memory, or has landed. False where that is not pinned.
bool begin_copy_to_device(Receive& receive, const HostMemory& from, std::size_t bytes);
// After each look for further messages, of which some `may_come`: begins the next batch when a look
// has found none, and the batch before has ended. To launch a kernel takes as long as to receive
// some messages, so few large batches are faster.
void advance_batches(bool may_come);
// Waits until the message is there, if its copy is gathered or under way.
void wait_copy(Receive& receive);

// Whether any copies are gathered or under way.
bool have_copies();
void wait_copies();
// Notes those of the copy engine that have ended by themselves.
void note_ended_copies();

}  // namespace nearpeak::layer
