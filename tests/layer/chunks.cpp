// SPDX-License-Identifier: Apache-2.0
// What applications do with memory that they map in chunks, as PyTorch's expandable segments do:
// chunks of several lengths, that come and go while others have them open.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "application.hpp"

namespace {

constexpr int kTag = 3;

void put(void* to, std::size_t bytes, int seed) {
  std::vector<unsigned char> host(bytes);
  put_pattern(host.data(), bytes, seed);
  copy(to, host.data(), bytes);
}

bool holds(const void* from, std::size_t bytes, int seed) {
  std::vector<unsigned char> host(bytes);
  copy(host.data(), from, bytes);
  return has_pattern(host.data(), 0, bytes, seed);
}

// From rank 0 to the others, into memory of a kind.
void send(char* data, std::size_t bytes, int seed, char kind = 'D') {
  if (rank == 0) {
    put(data, bytes, seed);
    for (int to = 1; to < size; ++to)
      MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
    return;
  }
  Buffer in(kind, bytes + 8);
  MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, 0, kTag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  CHECK(in.has(seed, bytes));
}

// All ranks have used a device, and each knows which memory others open.
void acquaint() {
  Buffer one('D', 100), other('D', 100);
  for (int i = 0; i < 3; ++i) {
    MPI_Sendrecv(one.data(), 100, MPI_BYTE, (rank + 1) % size, 0, other.data(), 100, MPI_BYTE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    barrier();
  }
}

// Chunks that this process keeps, as its own or another's: by a file or mapped.
std::size_t kept() {
  std::set<ino_t> found;
  DIR* const all = opendir("/proc/self/fd");
  while (const dirent* const each = readdir(all)) {
    char link[256] = "";
    struct stat status{};
    const std::string path = std::string("/proc/self/fd/") + each->d_name;
    if (readlink(path.c_str(), link, sizeof(link) - 1) > 0 && stat(path.c_str(), &status) == 0 &&
        std::strstr(link, "nearpeak-fake-cuda-chunk") != nullptr)
      found.insert(status.st_ino);
  }
  closedir(all);
  return found.size();
}

// Messages that begin and end anywhere in chunks of several lengths.
void spans() {
  Segment segment(16);
  const std::size_t lengths[] = {1, 3, 1, 2, 5};
  std::size_t place = 0;
  for (const std::size_t length : lengths) {
    segment.map(place, length);
    place += length;
  }
  const std::size_t all = place * kChunk;
  int seed = 0;
  for (const char kind : {'D', 'H'})
    for (const std::size_t begin : {std::size_t{0}, kChunk - 1, kChunk, 4 * kChunk + 5})
      for (const std::size_t bytes :
           {std::size_t{100}, std::size_t{5000}, 2 * kChunk + 7, 6 * kChunk, all - begin})
        send(segment.data() + begin, bytes, ++seed, kind);
  // And into them.
  Buffer data(rank == 0 ? 'D' : 'H', 3 * kChunk);
  for (const std::size_t begin : {std::size_t{3}, 3 * kChunk + 11}) {
    if (rank == 0) {
      data.fill(++seed);
      for (int to = 1; to < size; ++to)
        MPI_Send(data.data(), 3 * kChunk, MPI_BYTE, to, kTag, MPI_COMM_WORLD);
    } else {
      ++seed;
      MPI_Recv(segment.data() + begin, 3 * kChunk, MPI_BYTE, 0, kTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      CHECK(holds(segment.data() + begin, 3 * kChunk, seed));
    }
  }
}

// Chunks that are replaced where they are, in all orders, and more behind them.
void replaced() {
  Segment segment(8);
  segment.map(0);
  segment.map(1);
  int seed = 0;
  for (std::size_t round = 0; round < 6; ++round) {
    send(segment.data(), 2 * kChunk, ++seed);
    barrier();  // nobody has it
    segment.unmap(round % 2);
    segment.map(round % 2);
    send(segment.data() + 1000, 2 * kChunk - 1000, ++seed);
    barrier();
    segment.map(2 + round);
    send(segment.data() + kChunk / 2, (2 + round) * kChunk, ++seed);
    barrier();
  }
  for (std::size_t i = 0; i < 8; ++i) segment.unmap(i);
  segment.map(0, 8);
  send(segment.data(), 8 * kChunk, ++seed);
}

// Others do not keep for ever what the application has given back, nor does this rank.
void given_back() {
  constexpr std::size_t kChunks = 6;
  Segment other(1);
  other.map(0);
  const auto go_on = [&] {
    for (int i = 0; i < 40; ++i) {
      send(other.data(), 5000, i);
      barrier();
    }
  };
  go_on();
  const int opened_before = opened();
  const std::size_t kept_before = kept();
  {
    Segment segment(kChunks);
    for (std::size_t i = 0; i < kChunks; ++i) segment.map(i);
    // A message that is set aside, as its receiver comes late, opens nothing.
    for (int round = 0, all = 0; round < 50 && all == 0; ++round) {
      send(segment.data(), kChunks * kChunk, 1 + round);
      // For a third rank, on the device of the first, that one may have copied.
      const int own = rank != 1 || opened() >= static_cast<int>(kChunks) ? 1 : 0;
      MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    CHECK(rank != 1 || opened() >= static_cast<int>(kChunks));
    CHECK(rank > 1 || kept() >= kChunks);
    barrier();
  }
  // What the first rank copied last for the third one it may have open.
  const int few = size > 2 && rank != 1 ? 4 : 0;
  const auto is_closed = [&] { return opened() <= opened_before + few; };
  const auto is_given = [&] {
    return static_cast<int>(kept()) <= static_cast<int>(kept_before) + few;
  };
  // On a busy machine messages are set aside, and a rank that opens no memory does not learn what
  // others have freed. So it gets more messages.
  for (int round = 0, all = 0; round < 50 && all == 0; ++round) {
    go_on();
    const int own = is_closed() && is_given() ? 1 : 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  }
  CHECK(is_closed());
  CHECK(is_given());
}

// More of them than a rank shows at once.
void many() {
  constexpr std::size_t kChunks = 90;
  Segment segment(kChunks);
  for (std::size_t i = 0; i < kChunks; ++i) segment.map(i);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kChunks; ++i)
      send(segment.data() + i * kChunk + 100, 1000, static_cast<int>(i) + round);
    send(segment.data(), kChunks * kChunk, round);  // at once
    send(segment.data(), 20 * kChunk, round + 1);
  }
}

constexpr int kLong = 256 << 10;

// Two MiB of it from rank 0, by a way that is slow in every kind of memory.
void by_ssend() {
  Buffer data('D', kLong);
  for (int i = 0; i < 8; ++i) {
    if (rank == 0) MPI_Ssend(data.data(), kLong, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    if (rank == 1)
      MPI_Recv(data.data(), kLong, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void again() {
  Buffer data('D', kLong);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) MPI_Send_init(data.data(), kLong, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 8; ++i) {
    if (rank == 0) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 1)
      MPI_Recv(data.data(), kLong, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) MPI_Request_free(&request);
}

// In memory of any kind, where the device has no more.
void no_room() {
  Buffer data('D', kLong);
  std::size_t left = 0, all = 0;
  CHECK(cuda("cuMemGetInfo_v2", &left, &all) == 0);
  void* rest = nullptr;
  CHECK(cuda("cuMemAlloc_v2", &rest, left - (64 << 10)) == 0);
  for (int i = 0; i < 8; ++i) {
    if (rank == 0) {
      data.fill(i);
      MPI_Send(data.data(), kLong, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    }
    if (rank == 1) {
      MPI_Recv(data.data(), kLong, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(data.has(i, kLong));
    }
  }
  CHECK(cuda("cuMemFree_v2", rest) == 0);
}

// In memory that both the CPU and the device reach.
void managed() {
  void* memory = nullptr;
  CHECK(cuda("cuMemAllocManaged", &memory, std::size_t{kLong}, 1U) == 0);
  for (int i = 0; i < 8; ++i) {
    if (rank == 0) MPI_Send(memory, kLong, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(memory, kLong, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  CHECK(cuda("cuMemFree_v2", memory) == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const Cases cases{{"spans", spans},     {"replaced", replaced}, {"given_back", given_back},
                    {"many", many},       {"by_ssend", by_ssend}, {"again", again},
                    {"no_room", no_room}, {"managed", managed}};
  return run(argc, argv, cases, [] { acquaint(); });
}
