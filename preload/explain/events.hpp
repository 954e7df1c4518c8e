// SPDX-License-Identifier: Apache-2.0
// What one process did while it was measured, event by event, in a file that is mapped into memory:
// it holds all that was seen however the process ends. `nearpeak explain` reads it
// (src/nearpeak/explain/events.py), made on the same kind of machine: a Header, then Events of the
// host, then those of the device, which come late and must find a place behind any number of calls.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearpeak::explain {

constexpr int kNames = 2048;
constexpr int kNameBytes = 48;

enum class Kind : std::uint8_t {
  kNone,
  kMark,      // of the measuring program: `name` is which (Mark), `bytes` its number
  kHostCall,  // of libc: `bytes` as the call says
  kDriver,    // of the accelerator's driver
  kCopy,  // on the device: `name` is kind, from and to, as CUPTI numbers them, the latter 5 bits
          // each
  kKernel,
  kFill,
  kSample,   // what a thread is at: `bytes` is the address, `name` what is there once it is known
  kCounter,  // of the thread, since it began: `name` is which (Counter), `bytes` its value
  kOwnCall,  // of the driver, by the measuring program itself: `bytes` is its number
};

enum Mark : std::uint16_t {
  kPrepares = 0,   // is not kept: samples are going to begin
  kBegins = 1,     // a sample; 1: all ranks begin it together
  kEnds = 2,       // a sample of so many iterations
  kTurn = 3,       // a message of a ping-pong has arrived
  kOwnBegins = 4,  // are not kept, but in Event::own
  kOwnEnds = 5,
};

enum Counter : std::uint16_t {
  kMinorFaults = 1,
  kMajorFaults = 2,
  kVoluntarySwitches = 3,
  kInvoluntarySwitches = 4,
  kUserNs = 5,
  kSystemNs = 6,
};

struct Event {
  std::uint64_t begin_ns;  // CLOCK_MONOTONIC; what the device did: the clock of CUPTI
  std::uint64_t end_ns;
  std::uint64_t bytes;
  std::uint32_t thread;  // what the device did: the number of the call that it was done for
  std::uint16_t name;
  Kind kind;
  std::uint8_t own;  // 1: of a call that the measuring program itself makes
};
static_assert(sizeof(Event) == 32);

// The same instant on the clock of CUPTI and on ours; 0 without.
struct Instant {
  std::uint64_t device_ns;
  std::uint64_t ns;
};

enum Area { kOfHost, kOfDevice, kAreas };

struct Header {
  char magic[8];
  std::uint32_t header_bytes;
  std::int32_t process;
  std::uint64_t room[kAreas];          // events that have a place
  std::uint64_t begun[kAreas];         // events: more than have a place where some were lost
  std::uint64_t lost_from_ns[kAreas];  // when the earliest lost one began; 0: none was
  std::int32_t rank;
  std::int32_t ranks;
  Instant first;
  Instant last;
  char device[256];  // what keeps the device from being seen; "" where it is seen or not used
  std::uint32_t driver_call_ns;  // what it takes to see one, outside of what is kept of it
  std::uint32_t host_call_ns;
  std::uint64_t dropped;           // records of the device for which CUPTI got, or had, no memory
  char names[kNames][kNameBytes];  // of calls and kernels
};

// The names of calls of libc are the first, those of the driver follow, then other texts.
constexpr int kFirstDriverName = 64;
constexpr int kFirstText = 1536;

// Whether events of this thread are kept: from the first sample on, and not in a forked process.
bool recording();
std::uint64_t now_ns();
void add(Kind kind, std::uint16_t name, std::uint64_t begin_ns, std::uint64_t end_ns,
         std::uint64_t bytes);
// What the device did, for the call of this number.
void add_of_device(Kind kind, std::uint16_t name, std::uint64_t begin_ns, std::uint64_t end_ns,
                   std::uint64_t bytes, std::uint32_t call);
// What the calling thread does from now on is the measuring program's own work, or no longer.
void own_work(bool begins);
bool is_own_work();
// Whether the calling thread is in now_ns().
bool reads_clock();
// Gives a name its text, once.
void name(int number, const char* text);
// The number of a text that comes while events are kept; the last one stands for all further ones.
std::uint16_t text_number(const char* text);
// Of each sample that is new since, what is at its address.
void for_samples(std::uint16_t (*name_of)(std::uint64_t address));

// What is known of the device, before or while events are kept. `why_not`: "" where it is seen.
void device_seen(const char* why_not);
void same_instant(Instant instant);
void dropped(std::uint64_t records);

// Makes the file of this rank, of which nobody but the calling thread knows until begin(): true the
// first time. Says on standard error why it cannot.
bool prepare(int rank, int ranks);
// Between these two, before costs(): what it takes to see what `call` does, outside of what is kept
// of it, in ns: it is seen a thousand times for that, and forgotten. 0 where it is not seen.
std::uint32_t cost_ns(void (*call)());
// Keeps what seeing a call costs; until begin() no events are kept from now on: a warm-up may wait
// for others that still prepare, and what it polls would take all room.
void costs(std::uint32_t driver_call_ns, std::uint32_t host_call_ns);
// Begins to keep events, where they were prepared for.
void begin();

}  // namespace nearpeak::explain
