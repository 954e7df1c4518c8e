// SPDX-License-Identifier: Apache-2.0
// What a rank has counted: a file that is mapped into memory, so that it holds all that was seen
// however the rank ends. `nearpeak trace` reads it (src/nearpeak/trace/read.py), made on the same
// kind of machine: a Header, then a Table for each thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearpeak::trace {

constexpr int kOperations = 192;
constexpr int kNameBytes = 32;
// Of messages: none (a barrier has no size), 0 bytes, 1, 2 to 3, 4 to 7, ...
constexpr int kSizes = 50;
constexpr int kMemories = 2;  // host, device
enum class Peer { none, self, same_host, other_host, unknown };
constexpr int kPeers = 5;
constexpr int kThreads = 64;  // what further ones do is not counted

struct Cell {
  std::uint64_t count;
  std::uint64_t bytes;
  std::uint64_t ticks;
  std::uint64_t longest;  // ticks of one call
};

struct Table {
  std::uint64_t last;  // ticks at the end of the last call
  Cell cells[kOperations][kSizes][kMemories][kPeers];
};

// The clock's ticks, and the same instant in nanoseconds.
struct Instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

struct Header {
  char magic[8];
  std::uint32_t header_bytes;
  std::uint32_t table_bytes;
  std::uint32_t shape[4];  // operations, sizes, memories, peers
  Instant first;
  Instant last;             // both: how long a tick is
  std::uint64_t begun;      // ticks when MPI_Init had ended
  std::uint64_t finalized;  // ticks when MPI_Finalize began; 0: it never did
  std::uint64_t lost;       // calls that found no place
  std::int32_t rank;
  std::int32_t ranks;
  std::int32_t process;
  std::int32_t threads;
  char host[64];
  char names[kOperations][kNameBytes];
};

// The number of an operation; -1 where there are too many.
int operation(const char* name);

// Lets this process count from now on; where it cannot, says why once on standard error.
void begin(int rank, int ranks);
// Nothing is counted after this.
void end();
bool counting();

std::uint64_t ticks();
void add(int operation, std::int64_t bytes, bool device, Peer peer, std::uint64_t from,
         std::uint64_t to);

}  // namespace nearpeak::trace
