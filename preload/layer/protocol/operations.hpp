// SPDX-License-Identifier: Apache-2.0
// Operations that are under way, by the requests that the application has for them, and what is
// left to do for each when the MPI library has done its part. Who calls holds the guard.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "calls/real.hpp"
#include "layer/copy/devices.hpp"
#include "layer/copy/host_memory.hpp"
#include "layer/copy/host_shadow.hpp"
#include "layer/protocol/parts.hpp"
#include "layer/world/envelope.hpp"
#include "layer/world/slots.hpp"

namespace nearpeak::layer {

// Where a receive puts its message.
struct Target {
  void* data = nullptr;
  MPI_Count n = 0;
  MPI_Datatype type{};
  std::size_t room = 0;  // bytes
  bool dense = true;
  bool on_device = false;
  Located place{};  // there

  // Whether an envelope can be received where the application wants the message. MPICH takes no
  // part of a number into a type with gaps.
  bool takes_envelope() const { return dense && !on_device; }
};

struct Operation {
  // kStaged: a send from host memory of the layer's. kOffered: by an envelope. kHeld: a receive of
  // what a probe has found. kCollective: with shadows, also a persistent one. kSendrecv: a send and
  // a receive, with requests of their own.
  enum class Kind { kReceive, kStaged, kOffered, kHeld, kCollective, kSendrecv };

  Kind kind = Kind::kReceive;
  MPI_Request request{};
  bool has_request = false;
  MPI_Comm comm{};
  bool comm_freed = false;
  HostMemory memory;  // where a message is received that goes elsewhere then, or sent from
  std::size_t memory_bytes = 0;  // of a receive's

  // Of a receive.
  Target target;
  bool owns_type = false;
  bool persistent = false;
  bool unchecked = false;  // an envelope must not come
  bool active = true;      // started
  bool settled = false;    // the data is where the application wants it
  bool freed = false;      // by the application
  bool replaced = false;   // the status says nothing of the message: this does
  MPI_Count bytes = 0;
  int error = MPI_SUCCESS;
  int source = MPI_ANY_SOURCE;  // of one that was held
  int tag = MPI_ANY_TAG;

  // Of one whose message is being copied.
  Slot* copying = nullptr;
  std::size_t lane = 0;

  // Of a message that goes in parts; of a receive until it is there.
  std::unique_ptr<Parts> in_parts;

  std::vector<HostShadow> shadows;     // of a collective
  SharedShadows shared;                // of an access to a window
  std::array<MPI_Request, 2> parts{};  // of both: the receive and the send

  // Of a send by an envelope.
  int to = 0;  // in MPI_COMM_WORLD
  Envelope envelope{};
  MPI_Request sending{};
  bool sent = false;                              // the envelope
  bool done = false;                              // for the application
  bool kept = false;                              // by a call that has not returned
  bool awaited = false;                           // somebody waits for it,
  std::chrono::steady_clock::time_point since{};  // from then on
  const void* data = nullptr;
  Located place{};
  bool on_host = false;  // the data
  bool again = false;    // a message used it before
  std::unique_ptr<Shared> aside;
  Scratch packed;  // what is sent, where the application's is not

  // In the list of those that are advanced.
  Operation* before = nullptr;
  Operation* after = nullptr;
};

// The record of a request; null where the layer has nothing to do with it.
Operation* known(MPI_Request request);
// Whether a request is complete already: such ones share a handle in some libraries, by which
// nothing can be kept.
bool is_complete(MPI_Request request);
// Keeps an operation by its request, until finished() or free_request().
Operation& keep(std::unique_ptr<Operation> operation, MPI_Request request);
// The library has given its request another handle.
void rename(Operation& operation, MPI_Request request);
// Before a receive is begun: nothing of another message is in its memory.
void clear(Operation& operation);
// Begins to look for the envelope of a receive; where it is persistent, at each start.
void open_receive(Operation& operation);
// Of a send by an envelope that has been sent, until it is done: its caller has it until
// release_offered(), or until it has a request.
Operation& keep_offered(std::unique_ptr<Operation> operation);

// The caller has it no more.
void release_offered(Operation& operation);

// Whether receives are under way that no envelope may come to, begun before this rank accepted
// envelopes.
bool has_unchecked_receives();

// Whether somebody waits for what advance() does.
bool busy();
// The same for a receive that somebody asks after, of a message from another node.
void advance_asked(Operation& operation);
// Takes envelopes that came, and notes sends that were taken: a part of all that there are. Copies
// are under way then only while somebody is Waiting.
void advance();
// The same for one send by an envelope, which somebody waits for.
void advance_awaited(Operation& operation);
// Lets the MPI library go on with messages of this rank. Who waits for others by shared memory
// calls it now and then, as they may wait for such a message before they come to that.
void progress();

// A receive or a collective whose request the MPI library says is complete: puts the data in its
// place.
void settle(Operation& operation, const MPI_Status& status);
// What a received envelope stands for is put where the receive wants it, or, later, is on its way
// there until wait_copy(); what a header stands for always is.
enum class Until { kThere, kUnderWay };
void take(Operation& operation, const Envelope& envelope, Until until = Until::kThere);
// Waits until its message is there.
void wait_copy(Operation& operation);
// Bytes in host memory likewise.
void put(Operation& operation, const void* from, std::size_t bytes);
// Writes the number of bytes where the layer knows better than the MPI library.
void correct(const Operation& operation, MPI_Status& status);
// The request of an operation was completed with this error by the MPI library: what is left is
// done, the status corrected, the record dropped. Returns the error of the operation.
int finished(Operation& operation, MPI_Status& status, int error);
// Whether a host receive that is complete got an envelope.
bool got_envelope(const Target& target, const MPI_Status& status, Envelope& envelope);
std::size_t bytes_of(const MPI_Status& status);

// MPI_Request_free of a request that is known.
void free_request(Operation& operation);
// Whether a communicator is none any more, of those that are under way.
void note_comm_freed(MPI_Comm comm, bool freed);
// What is under way when the application ends.
void finish_all();

// Gives way after many tries.
class Pause {
 public:
  void operator()();

 private:
  int tries_ = 0;
};

// Who calls advance() again and again: copies may be under way between. When it ends they are done,
// as their senders would wait for ever for an application that does something else.
class Waiting {
 public:
  Waiting();
  ~Waiting() { end(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void operator()() { pause_(); }
  // Before the MPI library waits.
  void end();

 private:
  Pause pause_;
  bool ended_ = false;
};

}  // namespace nearpeak::layer
