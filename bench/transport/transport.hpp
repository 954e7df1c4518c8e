// SPDX-License-Identifier: Apache-2.0
// How messages go between this rank and one other. MPI is one transport, every way to move bytes
// without MPI another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "accel/memory.hpp"

namespace nearpeak {

// What a point-to-point case asks of a transport on one rank. All but `sends` and `receives` is the
// same at both ends.
struct Messages {
  std::size_t bytes;                          // the largest message
  std::uint64_t window;                       // the most messages that are open at once
  std::uint64_t slots;                        // of the buffers, at both ends
  bool sends;                                 // messages of more than 0 bytes,
  bool receives;                              // likewise
  int rank;                                   // of this end in its group,
  int peer;                                   // and of the other
  bool first() const { return rank < peer; }  // of the two
};

// A message goes out of a slot of the sender's buffer into the slot of that number at the receiver.
// Both ends name the same slots in the same order, so that a transport that writes into the other's
// memory, or reads out of it, has nothing to ask. Messages of 0 bytes go in line with the others.
//
// When a receive is finished the bytes are in their place. A send may finish before its bytes have
// been read: they stay as they are until a later message has come back, by which every round of a
// benchmark ends, or until a barrier of the group.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual void begin_send(std::size_t slot, std::size_t bytes) = 0;
  virtual void begin_receive(std::size_t slot, std::size_t bytes) = 0;
  // Until everything that was begun is finished.
  virtual void finish() = 0;

  virtual void send(std::size_t slot, std::size_t bytes) {
    begin_send(slot, bytes);
    finish();
  }
  virtual void receive(std::size_t slot, std::size_t bytes) {
    begin_receive(slot, bytes);
    finish();
  }
  // A message each way at once, in the same slot.
  virtual void exchange(std::size_t slot, std::size_t bytes) {
    begin_receive(slot, bytes);
    begin_send(slot, bytes);
    finish();
  }
};

// Of the payload that `sender` sends: differs between ranks and sizes.
inline std::uint64_t payload_seed(int sender, std::size_t bytes) {
  return (static_cast<std::uint64_t>(sender + 1) << 48) ^ bytes;
}

// The buffers of one end. `out` holds the payload of round 0 before the first transport is made.
struct Buffers {
  SlotBuffer& out;  // of no bytes where it sends nothing
  SlotBuffer& in;
};

// The slots of one end of a case. The owner writes to all of them, so that their pages are on its
// NUMA node whoever comes next.
struct Slots {
  SlotBuffer out;
  SlotBuffer in;

  // Throws std::bad_alloc and AcceleratorError.
  Slots(const Messages& messages, Memory& out_memory, Memory& in_memory, std::size_t offset = 0)
      : out(out_memory, messages.sends ? messages.bytes : 0, messages.sends ? messages.slots : 1,
            offset),
        in(in_memory, messages.receives ? messages.bytes : 0,
           messages.receives ? messages.slots : 1, offset) {
    if (messages.sends) out.fill({payload_seed(messages.rank, messages.bytes)});
    if (messages.receives) in.poison(payload_seed(messages.peer, messages.bytes));
  }
  Buffers both() { return {out, in}; }
  // That they take.
  static std::uint64_t bytes(const Messages& messages) {
    const std::uint64_t ways = (messages.sends ? 1 : 0) + (messages.receives ? 1 : 0);
    return ways * messages.slots * SlotBuffer::stride(messages.bytes);
  }
};

// One of the transports that a case may go by, seen from this rank. Every rank has the same, in the
// same order.
struct Method {
  std::string name;
  Buffers buffers;
  // Why this end cannot; empty where it can.
  std::string unavailable;
  // Collective over both ends.
  std::function<std::unique_ptr<Transport>()> make;
  // What it takes that no library can count on ("gpu": it holds the GPU between messages; "window":
  // it has all messages of a window before it moves the first).
  std::vector<std::string> needs = {};
};

}  // namespace nearpeak
