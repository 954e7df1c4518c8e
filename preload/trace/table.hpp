// SPDX-License-Identifier: Apache-2.0
// What a rank has counted: a file that is mapped into memory, so that it holds all that was seen
// however the rank ends. `nearpeak trace` reads it (src/nearpeak/trace/read.py), made on the same
// kind of machine: a Header, then a Section for each time that a thread needed more cells.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearpeak::trace {

constexpr int kOperations = 512;
constexpr int kNameBytes = 39;
// Of messages: none (a barrier has no size), 0 bytes, 1, 2 to 3, 4 to 7, ...
constexpr int kSizes = 64;
constexpr int kThreads = 256;  // what further ones do is not counted
// Instead of a rank in MPI_COMM_WORLD. Which host a rank is on is known when all files are read:
// to ask for it here would be a call of all ranks, and not all need have this library.
constexpr int kNobody = -1;
constexpr int kUnknown = -2;
constexpr int kNull = -3;  // MPI_PROC_NULL: nobody, and nothing is moved whatever the size

// What calls have in common that are counted together.
struct Kind {
  int operation;
  int maker;  // of a persistent request that it starts: what made it; else 0
  std::int64_t bytes;
  bool device;
  int peer;
};

struct Cell {
  std::uint64_t key;  // from bit 0: peer + 2 (32 bits), device (1), size (6), maker, operation (9)
  std::uint64_t count;
  std::uint64_t bytes;
  std::uint64_t ticks;
  std::uint64_t longest;  // ticks of one call
};

// The clock's ticks, and the same instant in nanoseconds.
struct Instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

constexpr int kCells = 408;
struct Section {
  std::uint64_t bytes;  // of this section; 0: it was never begun
  std::uint64_t thread;
  std::uint64_t last;  // in the first of a thread: ticks at the end of its last call
  Instant instant;     // when its last cell was begun
  Cell cells[kCells];  // those used come first
};

struct Name {
  char text[kNameBytes];
  char begins;  // whether the call only begins an operation
};

struct Header {
  char magic[8];
  std::uint32_t header_bytes;
  std::uint32_t operations;
  Instant first;
  Instant last;             // this, or a later one of a section: how long a tick is
  std::uint64_t begun;      // ticks when MPI_Init had ended; later by what was between two counts
  std::uint64_t finalized;  // ticks when MPI_Finalize began; 0: it never did
  std::uint64_t lost;       // calls that found no place
  std::int32_t rank;
  std::int32_t ranks;
  std::int32_t launched;  // ranks, as the launcher's environment says; 0: it does not
  std::int32_t process;
  char host[64];
  Name names[kOperations];  // that of operation 0 is empty
};

// The number of an operation; 0 where there are too many.
int operation(const char* name, bool begins);

// Lets this process count from now on; where it cannot, says why once on standard error. After an
// end it goes on in the same file.
void begin(int rank, int ranks);
// Nothing is counted from now on.
void end();
bool counting();

std::uint64_t ticks();
// Calls of one kind that took so many ticks.
void add(const Kind& kind, std::uint64_t ticks, std::uint64_t now);

}  // namespace nearpeak::trace
