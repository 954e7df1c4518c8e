// SPDX-License-Identifier: Apache-2.0
// Memory that the ranks of one machine share: what each says of the messages that it sends. It has
// no name, and is opened by its file descriptor: nothing of it is left whoever crashes.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "layer/copy/chunk_table.hpp"
#include "layer/copy/exported.hpp"
#include "layer/copy/key.hpp"
#include "layer/copy/process.hpp"
#include "layer/world/copy_requests.hpp"
#include "layer/world/seat.hpp"

namespace nearpeak::layer {

// Of a slot. The sender alone makes it offered or free, and of offered set aside; the receiver
// takes it from either of both, shares the work of one that it has taken where the sender may help
// (host.hpp), and has done when the data is there.
enum class State : std::uint32_t { kFree, kOffered, kAside, kTaken, kShared, kDone };

struct alignas(64) Slot {
  std::atomic<State> state{State::kFree};
  std::uint32_t aside = 0;    // a file descriptor of the sender, or kInPlace
  std::uint64_t number = 0;   // counts its uses
  std::uint64_t bytes = 0;    // of the message
  std::uint64_t address = 0;  // as the sender calls it
  std::uint64_t allocation = 0;
  std::uint64_t offset = 0;  // in its allocation
  Exported handle;
  std::uint32_t on_host = 0;  // the sender's memory: of the three above, its address alone
  std::uint32_t pinned = 0;   // that memory of the host is, and the sender will be quick
  // While it is taken or shared. What the receiver has on a device is in the three above then.
  std::uint64_t fits = 0;                 // bytes that are moved
  std::uint64_t target = 0;               // where to on the receiver's host
  std::atomic<std::uint64_t> claimed{0};  // of those, from the first on, by one or the other,
  std::atomic<std::uint64_t> moved{0};    // and that are in their place
};

struct Header {
  std::atomic<std::uint32_t> accepts_envelopes{0};  // whether others may send it envelopes
  std::array<char, 60> uuid{};                      // then: of the device by which it opens memory
  std::uint64_t self = 0;                           // where the rank itself has this
  Key key{};                                        // its own
  // Written by others: how many take envelopes, and whether one expects long messages of this
  // rank's host memory.
  std::atomic<std::uint32_t> company{0};
  std::atomic<std::uint32_t> expected{0};
  // Whether its receives have room for envelopes in the place of short messages.
  std::atomic<std::uint32_t> gives_room{0};
  // What others may try to open who do not see its device; without a length, nothing. And who have
  // no number for this process: the same in a chunk. Both begin with the key.
  IpcHandle trial{};
  Exported trial_chunk{};
  std::uint64_t trial_allocation = 0;  // of the chunk
  // Whether it moves for others of its GPU (copy_proxy.hpp), and how often others have asked it.
  std::atomic<std::uint32_t> serves{0};
  // A file descriptor of the rank, which others try to take.
  std::int32_t file = -1;
  alignas(64) std::atomic<std::uint32_t> rung{0};
  alignas(64) pthread_mutex_t combining;
  alignas(64) Freed freed;
};

// Who has it may combine numbers in the memory that a rank has on a device: one at a time of all
// ranks of the machine. Of one that has ended with it, the next one has it.
class Combining {
 public:
  explicit Combining(Header& header);
  ~Combining();
  Combining(const Combining&) = delete;
  Combining& operator=(const Combining&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

constexpr std::uint32_t kSlots = 16384;
// So many of them have a place for a short message beside them.
constexpr std::uint32_t kPlaces = 4096;
constexpr std::size_t kPlaceBytes = 4096;
constexpr std::uint32_t kInPlace = ~std::uint32_t{0};
// Communicators that a rank has at a time with direct collectives.
constexpr std::uint32_t kSeats = 1024;

// Memory of a process that others of its machine may open. Throws std::system_error, also where
// another's is not this user's or not so long: to touch what is not there would end the program.
class Shared {
 public:
  explicit Shared(std::size_t bytes);                              // its own, zero
  Shared(const Process& process, unsigned fd, std::size_t bytes);  // another's
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void* data() const { return data_; }
  unsigned fd() const { return static_cast<unsigned>(file_.number()); }  // of its own

 private:
  void map(const File& file, std::size_t bytes);

  File file_;  // of its own: of another's the mapping stays
  std::size_t bytes_;
  void* data_ = nullptr;
};

// The header and the slots of one rank, whose pages are taken where they are used.
class Area {
 public:
  Area();
  // Throws std::system_error, also where it is not that of the rank with this key.
  Area(const Process& process, unsigned fd, const Key& key);

  unsigned fd() const { return memory_.fd(); }
  Header& header() const { return *static_cast<Header*>(memory_.data()); }
  // Whether this rank expects long messages of another one's host memory in that of a device. Of
  // ranks beyond the room for it, it does not.
  bool expects(int sender) const {
    return sender < kSenders && expected_of(sender).load(std::memory_order_relaxed);
  }
  void expect(int sender, bool so) const {
    if (sender < kSenders) expected_of(sender).store(so, std::memory_order_relaxed);
  }
  // Whether this rank, by the device that it uses, opens memory of that of another one, as far as
  // it has said: what has a handle, what is in chunks, by file descriptors, or both. Of ranks
  // beyond the room for it, it has not.
  enum class Opens : std::uint8_t { kUnknown, kNo, kHandles, kChunks, kAll };
  Opens opens(int rank) const {
    return rank < kSenders ? opens_of(rank).load(std::memory_order_relaxed) : Opens::kUnknown;
  }
  void say_opens(int rank, Opens what) const {
    if (rank < kSenders) opens_of(rank).store(what, std::memory_order_relaxed);
  }
  // What it shows of memory that is mapped in chunks.
  ChunkTable& chunks() const {
    return *reinterpret_cast<ChunkTable*>(static_cast<char*>(memory_.data()) + kCopyRoomEnd);
  }
  // What this rank asks of the proxy of its GPU, and the bytes that go with it.
  CopyRequest& copy_request() const {
    return *reinterpret_cast<CopyRequest*>(static_cast<char*>(memory_.data()) + kCopyRequest);
  }
  char* copy_request_room() const { return static_cast<char*>(memory_.data()) + kSeatsEnd; }
  // Of an index that another rank may have said; std::out_of_range for none.
  Slot& slot(std::uint32_t index) const {
    if (index >= kSlots) [[unlikely]]
      throw_no_index("slot", index);
    return reinterpret_cast<Slot*>(static_cast<char*>(memory_.data()) + kHeaderBytes)[index];
  }
  Seat& seat(std::uint32_t index) const {
    if (index >= kSeats) [[unlikely]]
      throw_no_index("seat", index);
    return reinterpret_cast<Seat*>(static_cast<char*>(memory_.data()) + kPlacesEnd)[index];
  }
  // Where a message of this slot may be set aside; null where it is too long for a place.
  char* place(std::uint32_t index, std::size_t bytes) const {
    if (index >= kPlaces || bytes > kPlaceBytes) return nullptr;
    return static_cast<char*>(memory_.data()) + kSlotsEnd + index * kPlaceBytes;
  }

 private:
  static constexpr std::size_t kHeaderBytes = 131072;
  static constexpr std::size_t kCopyRequest = 2048;
  static constexpr std::size_t kExpected = 4096;
  static_assert(sizeof(Header) <= kCopyRequest && kCopyRequest + sizeof(CopyRequest) <= kExpected);
  static constexpr int kSenders = 61440;
  static constexpr std::size_t kOpens = kExpected + kSenders;
  static_assert(kOpens + kSenders <= kHeaderBytes);
  static constexpr std::size_t kSlotsEnd = kHeaderBytes + kSlots * sizeof(Slot);
  static constexpr std::size_t kPlacesEnd = kSlotsEnd + kPlaces * kPlaceBytes;
  static constexpr std::size_t kSeatsEnd = kPlacesEnd + kSeats * sizeof(Seat);
  static constexpr std::size_t kCopyRoomEnd = kSeatsEnd + kCopyRequestRoom;
  static constexpr std::size_t kBytes = kCopyRoomEnd + sizeof(ChunkTable);

  [[noreturn]] static void throw_no_index(const char* what, std::uint32_t index);
  std::atomic<bool>& expected_of(int sender) const {
    return reinterpret_cast<std::atomic<bool>*>(static_cast<char*>(memory_.data()) +
                                                kExpected)[sender];
  }

  std::atomic<Opens>& opens_of(int rank) const {
    return reinterpret_cast<std::atomic<Opens>*>(static_cast<char*>(memory_.data()) + kOpens)[rank];
  }

  Shared memory_;
};

// Which slots of a rank's own are free.
class FreeSlots {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // One that was used before, if there is one: its page is there.
  std::uint32_t take() {
    if (!used_.empty()) {
      const std::uint32_t index = used_.back();
      used_.pop_back();
      return index;
    }
    return fresh_ < kSlots ? fresh_++ : kNone;
  }
  void give(std::uint32_t index) { used_.push_back(index); }

 private:
  std::uint32_t fresh_ = 0;
  std::vector<std::uint32_t> used_;
};

}  // namespace nearpeak::layer
