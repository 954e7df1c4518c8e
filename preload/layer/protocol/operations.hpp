// SPDX-License-Identifier: Apache-2.0
// Operations that are under way, each kind by a type of its own: what is left to do when the MPI
// library has done its part. Who calls holds the guard.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "calls/real.hpp"
#include "layer/copy/devices.hpp"
#include "layer/copy/host_memory.hpp"
#include "layer/copy/host_shadow.hpp"
#include "layer/protocol/messages.hpp"
#include "layer/world/envelope.hpp"
#include "layer/world/slots.hpp"

namespace nearpeak::layer {

struct Operation {
  enum class Kind {
    kPostedReceive,
    kHeldReceive,
    kShortReceive,
    kStagedSend,
    kOfferedSend,
    kShadowedCall,
    kSendReceive,
    kBegunCollective
  };

  virtual ~Operation() = default;
  // A persistent one is started.
  virtual void note_start() {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const Kind kind;
  MPI_Comm comm;
  bool comm_freed = false;
  MPI_Request request{};
  bool has_request = false;
  bool request_freed = false;  // by the application, before it was complete
  bool persistent = false;
  bool started = true;      // false of a persistent one that is to be started
  int error = MPI_SUCCESS;  // of the layer's part

 protected:
  Operation(Kind of, MPI_Comm on) : kind(of), comm(on) {}
};

// Keeps the memory of ended operations for further ones of this type. Where a window of messages
// ends, malloc takes several hundred instructions for each of them. Who calls holds the guard.
template <typename Type>
class Reused {
 public:
  static void* operator new(std::size_t bytes) {
    if (unused == nullptr) return ::operator new(bytes);
    --count;
    return std::exchange(unused, unused->next);
  }
  static void operator delete(void* memory) {
    if (count == kMost) return ::operator delete(memory);
    ++count;
    unused = new (memory) Unused{unused};
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Unused {
    Unused* next;
  };

  static inline Unused* unused = nullptr;
  static inline std::size_t count = 0;
};

// The operation by its type; null where it is of another one, or null.
template <typename Type>
Type* as(std::conditional_t<std::is_const_v<Type>, const Operation, Operation>* operation) {
  const bool is = operation != nullptr && Type::covers(operation->kind);
  return is ? static_cast<Type*>(operation) : nullptr;
}

// A message that is sent or received in parts.
struct Parts {
  std::size_t bytes = 0;
  std::size_t step = 0;  // bytes of a part; the last one may be shorter
  int tag = 0;
  HostMemory memory;  // of all of it; none where the parts are received in their place
  char* at = nullptr;
  std::vector<MPI_Request> requests;  // in their order
  std::size_t over = 0;               // requests that are complete, from the first on
  std::size_t moved = 0;              // bytes of what was received that are on the device

  bool all_over() const { return over == requests.size(); }
};

// A receive: its message is the MPI library's own, or the layer puts it where the application wants
// it.
struct Receive : Operation {
  ~Receive() override;

  static constexpr bool covers(Kind kind) {
    return kind == Kind::kPostedReceive || kind == Kind::kHeldReceive;
  }
  // The application may free the type of the target before the message is there.
  void hold_type();
  // The layer has put what fits of a message of `bytes` bytes there.
  void note_delivered(std::size_t bytes) {
    delivered = true;
    status.bytes = static_cast<MPI_Count>(std::min(bytes, target.room));
    if (bytes > target.room) error = MPI_ERR_TRUNCATE;
  }
  bool is_arriving() const { return parts != nullptr; }

  Target target;
  MessageStatus status;
  bool delivered = false;        // by the layer: the MPI library does not know the length
  bool is_copied = false;        // in the background, for now;
  Slot* copied_slot = nullptr;   // then: of what is copied out of its sender's memory,
  HostMemory landed;             // where it is on its way between a device and the host,
  std::size_t copy_lane = 0;     // and which of the copies it is
  std::unique_ptr<Parts> parts;  // until all of them are there

 protected:
  Receive(Kind of, const Target& to, MPI_Comm on) : Operation(of, on), target(to) {}

 private:
  bool owns_type_ = false;
};

// Counts those of its kind.
template <typename Kind>
class Counted {
 public:
  Counted() { ++count; }
  ~Counted() { --count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  static bool any() { return count > 0; }

 private:
  static inline std::uint64_t count = 0;
};
// Receives under way that have less room than an envelope needs.
struct WithoutRoom final : Counted<WithoutRoom> {};
// Persistent receives.
struct StartedAgain final : Counted<StartedAgain> {};

// One without room that is the MPI library's alone.
struct ShortReceive final : Operation {
  explicit ShortReceive(const Origin& from)
      : Operation(Kind::kShortReceive, from.comm), origin(from) {}

  static constexpr bool covers(Kind kind) { return kind == Kind::kShortReceive; }
  void be_persistent() {
    persistent = true;
    started = false;
    started_again.emplace();
  }

  Origin origin;
  WithoutRoom without_room;
  std::optional<StartedAgain> started_again;
};

// What an envelope overwrites where the application wants the message: of a shorter one all behind
// it stays as it was.
class Overwritten {
 public:
  void keep(const Target& target) {
    kept_ = target.takes_envelope() && target.room >= kEnvelopeBytes;
    if (kept_) std::memcpy(bytes_.data(), target.data, kEnvelopeBytes);
  }
  // `bytes`: of the message.
  void put_back(const Target& target, std::size_t bytes) const {
    if (kept_ && bytes < kEnvelopeBytes)
      std::memcpy(static_cast<char*>(target.data) + bytes, &bytes_[bytes], kEnvelopeBytes - bytes);
  }

 private:
  bool kept_ = false;
  std::array<char, kEnvelopeBytes> bytes_;
};

// One that the MPI library has: an envelope may come in the place of the message.
struct PostedReceive final : Receive, Reused<PostedReceive> {
  PostedReceive(const Target& to, const Origin& from)
      : Receive(Kind::kPostedReceive, to, from.comm), origin(from) {}
  ~PostedReceive() override;

  static constexpr bool covers(Kind kind) { return kind == Kind::kPostedReceive; }
  // It is received as its type is, in which no envelope has room.
  void accept_no_envelope();
  bool accepts_envelope() const { return !unchecked_; }
  // It is received where fewer bytes have room.
  void lack_room() { without_room_.emplace(); }
  void be_persistent() {
    persistent = true;
    started_again_.emplace();
  }

  Origin origin;
  HostMemory host;          // where it is received, if not where the application wants it
  Overwritten overwritten;  // in the other case
  bool settled = false;     // the MPI library has completed it, and the layer knows
  PostedReceive* before = nullptr;
  PostedReceive* after = nullptr;

 private:
  bool unchecked_ = false;
  std::optional<WithoutRoom> without_room_;
  std::optional<StartedAgain> started_again_;
};

// Whether receives are under way that no envelope may come to, begun before this rank accepted
// envelopes.
bool has_unchecked_receives();

// One whose envelope or message came before it: a probe has found it, or MPI_Recv has it.
struct HeldReceive final : Receive {
  HeldReceive(const Target& to, MPI_Comm on) : Receive(Kind::kHeldReceive, to, on) {}

  static constexpr bool covers(Kind kind) { return kind == Kind::kHeldReceive; }
};

// A send from host memory of the layer's.
struct StagedSend final : Operation {
  StagedSend(HostMemory from, MPI_Comm on)
      : Operation(Kind::kStagedSend, on), memory(std::move(from)) {}

  static constexpr bool covers(Kind kind) { return kind == Kind::kStagedSend; }

  HostMemory memory;
  // Of a persistent one: what each start copies there.
  const void* data = nullptr;
  std::size_t bytes = 0;
  int receiver = -1;  // in MPI_COMM_WORLD
};

// What is offered to a receiver, which copies it from there.
struct OfferedMemory {
  const void* data = nullptr;
  bool on_host = false;
  Located place{};                    // of a device
  ShownChunks::Kept kept;             // as it is shown to the receiver
  Scratch copy;                       // of the application's, where the receiver cannot read that
  bool used_before = false;           // on the host: by another message
  std::unique_ptr<Shared> set_aside;  // a copy, where it needs memory of its own
};

// A send by an envelope.
struct OfferedSend final : Operation, Reused<OfferedSend> {
  using Clock = std::chrono::steady_clock;

  OfferedSend(int to, MPI_Comm on) : Operation(Kind::kOfferedSend, on), receiver(to) {}

  static constexpr bool covers(Kind kind) { return kind == Kind::kOfferedSend; }

  int receiver;  // in MPI_COMM_WORLD
  Envelope envelope{};
  MPI_Request envelope_request{};
  bool envelope_sent = false;
  bool complete = false;  // for the application
  bool in_call = false;   // a call that has not returned looks at it
  bool awaited = false;   // by the application
  bool seen_taken = false;
  Clock::time_point waiting_since{};
  OfferedMemory memory;
  std::unique_ptr<Parts> parts;  // of one in parts, which offers no memory
  OfferedSend* before = nullptr;
  OfferedSend* after = nullptr;
};

// A collective or an access to a window that the MPI library does between shadows.
struct ShadowedCall final : Operation {
  explicit ShadowedCall(MPI_Comm on) : Operation(Kind::kShadowedCall, on) {}

  static constexpr bool covers(Kind kind) { return kind == Kind::kShadowedCall; }

  std::vector<HostShadow> shadows;  // of a collective
  SharedShadows shared;             // of an access to a window
  bool written_back = false;
};

// A call that sends and receives, and does not wait: a request for both.
struct SendReceive final : Operation {
  SendReceive(HostMemory copy, MPI_Comm on)
      : Operation(Kind::kSendReceive, on), memory(std::move(copy)) {}

  static constexpr bool covers(Kind kind) { return kind == Kind::kSendReceive; }

  HostMemory memory;  // what is sent
  MPI_Request receiving = calls::request_null();
  MPI_Request sending = calls::request_null();
  MessageStatus status;  // of what was received
};

}  // namespace nearpeak::layer
