// SPDX-License-Identifier: Apache-2.0
// NCCL without a GPU, over the fake CUDA driver, which must be the one that the process has loaded
// (NEARPEAK_CUDA_LIBRARY). Operations are done by themselves, behind what their stream has been
// given. Ranks are processes of one host: bytes go through memory that the first of them has made,
// in pieces, so that no rank is done before those it needs have come. As unforgiving as the real
// one: buffers must be memory of the rank's own device, and what the two ends of a message say of
// its length must be the same.
//
// The environment's NEARPEAK_FAKE_NCCL is a comma list of
//   zeros      what arrives is zeros
//   sum        the last number of a reduction is wrong
//   dropped    the last block that arrives in an operation of several ranks does not
//   stale      nothing arrives: what was there before stays
//   local, symmetric, replayed
//              the last byte that arrives is wrong in memory that is registered so, or at every
//              launch of a graph but the first
//   rank=N     of these, on rank N alone
//   fails=N    the Nth operation of rank 1 fails
//   hangs=N    it never ends, until its communicator is aborted, which waits for its graphs
//   breaks=N   so does it, and rank 1 is told of an error
//   absent     rank 1 never comes to where the communicator is made
//   version=N  what ncclGetVersion says
//   unregistered  ncclCommRegister and ncclCommWindowRegister succeed and register nothing
//   windowless=N  ncclCommWindowRegister fails on rank N
// Built with -DWITHOUT_WINDOWS it has no windows, as NCCL 2.26; with -DWITHOUT_REGISTRATION no
// registration either, as NCCL 2.18.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kPiece = 1 << 14;
constexpr int kPatience = 20;         // looks in vain
constexpr std::uint64_t kDepth = 32;  // pieces that may be on their way: ranks share CPUs

enum Result {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6
};

struct UniqueId {
  char bytes[128];
};

struct Piece {
  std::size_t whole;  // of the message that it is of
  std::size_t bytes;
  char data[kPiece];
};

// From one rank to one other.
struct Lane {
  std::atomic<std::uint64_t> written;  // pieces
  std::atomic<std::uint64_t> read;
  Piece pieces[kDepth];
};

struct Meeting {
  std::atomic<int> come;
  std::atomic<std::uint64_t> windows[kMostRanks];     // that each rank has registered,
  std::atomic<std::size_t> window_bytes[kMostRanks];  // and the length of the last
  Lane lanes[kMostRanks][kMostRanks];
};

struct Faults {
  bool zeros = false, sum = false, dropped = false, stale = false, absent = false;
  bool local = false, symmetric = false, replayed = false, unregistered = false;
  int rank = -1, fails = 0, hangs = 0, breaks = 0, version = 22803, windowless = -1;
};

Faults faults() {
  Faults all;
  const char* text = std::getenv("NEARPEAK_FAKE_NCCL");
  std::stringstream list(text == nullptr ? "" : text);
  for (std::string item; std::getline(list, item, ',');) {
    const std::string name = item.substr(0, item.find('='));
    const int value = item == name ? 1 : std::atoi(item.c_str() + name.size() + 1);
    if (name == "zeros") all.zeros = true;
    if (name == "sum") all.sum = true;
    if (name == "dropped") all.dropped = true;
    if (name == "stale") all.stale = true;
    if (name == "local") all.local = true;
    if (name == "symmetric") all.symmetric = true;
    if (name == "replayed") all.replayed = true;
    if (name == "unregistered") all.unregistered = true;
    if (name == "windowless") all.windowless = value;
    if (name == "rank") all.rank = value;
    if (name == "fails") all.fails = value;
    if (name == "hangs") all.hangs = value;
    if (name == "breaks") all.breaks = value;
    if (name == "absent") all.absent = true;
    if (name == "version") all.version = value;
  }
  return all;
}

template <class Function>
Function* of_driver(const char* name) {
  static void* const driver =
      dlopen(std::getenv("NEARPEAK_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  if (driver == nullptr) std::abort();
  return reinterpret_cast<Function*>(dlsym(driver, name));
}

char* storage(const void* address, std::size_t bytes) {
  static auto* const find = of_driver<char*(unsigned long long, std::size_t)>("fake_cuda_storage");
  return find(reinterpret_cast<unsigned long long>(address), bytes);
}

struct Comm {
  int rank;
  int size;
  Meeting* meeting;
  Faults faults;
  int operations = 0;
  std::map<char*, std::size_t> local{};                   // registered memory, and its bytes
  std::map<char*, std::size_t> symmetric{};               // likewise, in windows
  std::shared_ptr<int> alive = std::make_shared<int>(0);  // held by what is yet to be done, and by
                                                          // graphs
  std::atomic<int> open{0};                               // operations that are being done
  std::atomic<bool> aborted{false};
  std::atomic<bool> broken{false};

  Lane& lane(int from, int to) const { return meeting->lanes[from][to]; }
};

bool holds(const std::map<char*, std::size_t>& memory, const char* address) {
  for (const auto& [begin, bytes] : memory)
    if (address >= begin && address < begin + bytes) return true;
  return false;
}

// One message, half way through or not begun.
struct Part {
  Comm* comm;
  bool sends;
  int peer;
  char* data;
  std::size_t bytes;
  std::size_t done = 0;
  bool over = false;

  // One piece, if the other end lets it.
  bool step() {
    Lane& lane = sends ? comm->lane(comm->rank, peer) : comm->lane(peer, comm->rank);
    const std::uint64_t open = lane.written - lane.read;
    if (sends ? open == kDepth : open == 0) return false;
    Piece& piece = lane.pieces[(sends ? lane.written : lane.read) % kDepth];
    if (sends) {
      piece.whole = bytes;
      piece.bytes = std::min(kPiece, bytes - done);
      std::memcpy(piece.data, data + done, piece.bytes);
    } else {
      if (piece.whole != bytes) {
        std::fprintf(stderr, "fake NCCL: %zu bytes were sent to a receive of %zu\n", piece.whole,
                     bytes);
        std::abort();
      }
      std::memcpy(data + done, piece.data, piece.bytes);
    }
    done += piece.bytes;
    ++(sends ? lane.written : lane.read);
    over = done == bytes;
    return true;
  }
};

// All at once; of those of one direction and peer the first goes first.
void move(std::vector<Part>& parts) {
  int idle = 0;
  for (bool all = false; !all;) {
    if (!parts.empty() && parts.front().comm->aborted) return;
    all = true;
    bool moved = false;
    std::vector<std::pair<bool, int>> busy;
    for (Part& part : parts) {
      if (part.over) continue;
      all = false;
      const std::pair<bool, int> way{part.sends, part.peer};
      if (std::find(busy.begin(), busy.end(), way) != busy.end()) continue;
      busy.push_back(way);
      moved = part.step() || moved;
    }
    idle = moved ? 0 : idle + 1;
    if (idle < kPatience)
      sched_yield();
    else
      usleep(10);  // other programs have the CPUs, too
  }
}

float as_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
std::uint32_t as_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
// Whole numbers alone.
float from_half(std::uint16_t half) {
  if (half == 0) return 0;
  return as_float((((half >> 10) & 31u) + 127 - 15) << 23 | (half & 0x3ffu) << 13);
}
std::uint16_t to_half(float value) {
  if (value == 0) return 0;
  const std::uint32_t bits = as_bits(value);
  return static_cast<std::uint16_t>((((bits >> 23) - 127 + 15) << 10) | ((bits >> 13) & 0x3ff));
}

std::size_t bytes_of(int type) {
  const std::size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < 0 || type > 9 ? 0 : bytes[type];
}

template <class T>
void add(char* to, const char* more, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, to + i * sizeof(T), sizeof(T));
    std::memcpy(&b, more + i * sizeof(T), sizeof(T));
    a = static_cast<T>(a + b);
    std::memcpy(to + i * sizeof(T), &a, sizeof(T));
  }
}

void add(int type, char* to, const char* more, std::size_t count) {
  if (type == 0) return add<signed char>(to, more, count);
  if (type == 2) return add<std::int32_t>(to, more, count);
  if (type == 7) return add<float>(to, more, count);
  if (type == 8) return add<double>(to, more, count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t a, b;
    std::memcpy(&a, to + 2 * i, 2);
    std::memcpy(&b, more + 2 * i, 2);
    if (type == 6)
      a = to_half(from_half(a) + from_half(b));
    else
      a = static_cast<std::uint16_t>(as_bits(as_float(a << 16) + as_float(b << 16)) >> 16);
    std::memcpy(to + 2 * i, &a, 2);
  }
}

// What an operation does.
using Work = std::function<void()>;

// Of the operation that this thread does: it has been done before, in a graph, and that is a fault.
thread_local bool is_replay = false;

bool is_faulty(const Comm& comm) { return comm.faults.rank < 0 || comm.faults.rank == comm.rank; }

// What the operation has received, as a library with a fault would leave it. `last`: bytes of the
// last block.
void poison(const Comm& comm, char* in, std::size_t bytes, const std::vector<char>& before,
            std::size_t last) {
  if (!is_faulty(comm) || bytes == 0) return;
  const bool wrong = (comm.faults.local && holds(comm.local, in)) ||
                     (comm.faults.symmetric && holds(comm.symmetric, in)) || is_replay;
  if (wrong) in[bytes - 1] = static_cast<char>(~in[bytes - 1]);
  if (comm.faults.zeros) std::memset(in, 0, bytes);
  if (comm.faults.stale) std::memcpy(in, before.data(), bytes);
  if (comm.faults.dropped && last < bytes)
    std::memcpy(in + bytes - last, before.data() + bytes - last, last);
}

// An operation that waits for the end of its group.
struct Grouped {
  Comm* comm;
  void* stream;
  Work work;
};

struct Group {
  int depth = 0;
  int error = kSuccess;
  std::vector<Part> parts;
  std::vector<Grouped> operations;
  void* stream = nullptr;
};
thread_local Group group;

void run(void* data) { (*static_cast<Work*>(data))(); }
void release(void* data) { delete static_cast<Work*>(data); }

// Work that is yet to begin looks whether its communicator has ended: that is never freed.
int launch(Comm* comm, void* stream, Work work) {
  static auto* const launch =
      of_driver<int(void*, void (*)(void*), void (*)(void*), void*)>("fake_cuda_launch");
  const bool breaks = comm->rank == 1 && comm->operations == comm->faults.breaks;
  const bool hangs = comm->rank == 1 && comm->operations == comm->faults.hangs;
  auto* const kept =
      new Work([=, alive = comm->alive, work = std::move(work), times = 0]() mutable {
        ++comm->open;
        if (breaks) comm->broken = true;
        while ((breaks || hangs) && !comm->aborted) usleep(1000);
        is_replay = comm->faults.replayed && times++ > 0;
        if (!comm->aborted) work();
        --comm->open;
      });
  return launch(stream, run, release, kept) == 0 ? kSuccess : kUnhandledCudaError;
}

int enqueue(Comm* comm, void* stream, Work work) {
  if (group.depth == 0) return launch(comm, stream, std::move(work));
  group.operations.push_back({comm, stream, std::move(work)});
  return kSuccess;
}

int flush() {
  int error = std::exchange(group.error, kSuccess);
  auto parts = std::exchange(group.parts, {});
  for (Grouped& each : std::exchange(group.operations, {}))
    if (error == kSuccess) error = launch(each.comm, each.stream, std::move(each.work));
  if (error != kSuccess || parts.empty()) return error;
  return launch(parts.front().comm, group.stream, [parts] {
    auto moving = parts;
    std::vector<std::vector<char>> before;
    for (const Part& part : parts)
      before.emplace_back(part.data, part.data + (part.sends ? 0 : part.bytes));
    move(moving);
    if (parts.front().comm->aborted) return;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!parts[i].sends) poison(*parts[i].comm, parts[i].data, parts[i].bytes, before[i], 0);
  });
}

int begin(Comm* comm) {
  ++comm->operations;
  return comm->rank == 1 && comm->operations == comm->faults.fails ? kUnhandledCudaError : kSuccess;
}

int message(bool sends, const void* data, std::size_t count, int type, int peer, Comm* comm,
            void* stream) {
  int error = begin(comm);
  const std::size_t bytes = count * bytes_of(type);
  char* const where = storage(data, bytes);
  if (error == kSuccess && (peer < 0 || peer >= comm->size || where == nullptr || bytes == 0))
    error = kInvalidArgument;
  if (error != kSuccess) group.error = error;
  group.stream = stream;
  if (error == kSuccess) group.parts.push_back({comm, sends, peer, where, bytes});
  if (group.depth == 0) return flush();
  return error;
}

// Every rank's `out_bytes` to those that want them, one behind the other into `into`.
struct Gathered {
  Comm* comm;
  const char* out;
  std::size_t bytes;

  std::vector<char> at(const std::vector<int>& receivers) const {
    const bool receives =
        std::find(receivers.begin(), receivers.end(), comm->rank) != receivers.end();
    std::vector<char> mine(out, out + bytes);
    std::vector<char> all(receives ? bytes * static_cast<std::size_t>(comm->size) : 0);
    std::vector<Part> parts;
    for (const int receiver : receivers)
      parts.push_back({comm, true, receiver, mine.data(), bytes});
    for (int sender = 0; receives && sender < comm->size; ++sender)
      parts.push_back(
          {comm, false, sender, all.data() + bytes * static_cast<std::size_t>(sender), bytes});
    move(parts);
    return all;
  }
};

std::vector<int> everyone(const Comm& comm) {
  std::vector<int> all;
  for (int rank = 0; rank < comm.size; ++rank) all.push_back(rank);
  return all;
}

// Sums of `count` numbers of every rank, of which the receivers get `kept` from number `first` on.
int reduction(Comm* comm, const void* out, void* in, std::size_t count, std::size_t first,
              std::size_t kept, int type, std::vector<int> receivers, void* stream) {
  if (const int error = begin(comm); error != kSuccess) return error;
  const std::size_t each = bytes_of(type);
  const bool receives =
      std::find(receivers.begin(), receivers.end(), comm->rank) != receivers.end();
  const char* const from = storage(out, count * each);
  char* const to = receives ? storage(in, kept * each) : nullptr;
  if (each == 0 || count == 0 || from == nullptr || (receives && to == nullptr))
    return kInvalidArgument;
  return enqueue(comm, stream, [=] {
    const std::size_t bytes = count * each;
    std::vector<char> before;
    if (receives) before.assign(to, to + kept * each);
    std::vector<char> all = Gathered{comm, from, bytes}.at(receivers);
    if (!receives) return;
    for (int rank = 1; rank < comm->size; ++rank)
      add(type, all.data(), all.data() + bytes * static_cast<std::size_t>(rank), count);
    std::memcpy(to, all.data() + first * each, kept * each);
    poison(*comm, to, kept * each, before, kept * each);
    if (comm->faults.sum && is_faulty(*comm)) to[kept * each - 1] ^= 1;
  });
}

}  // namespace

EXPORT int ncclGetVersion(int* version) {
  *version = faults().version;
  return kSuccess;
}

EXPORT const char* ncclGetErrorString(int error) {
  if (error == kSuccess) return "no error";
  if (error == kUnhandledCudaError) return "unhandled cuda error";
  if (error == kInvalidArgument) return "invalid argument";
  if (error == kRemoteError) return "remote process exited or there was a network error";
  return "invalid usage";
}

EXPORT const char* ncclGetLastError(Comm*) { return ""; }

// The memory in which ranks meet, by the process that made it and its file there.
EXPORT int ncclGetUniqueId(UniqueId* id) {
  const int file = memfd_create("nearpeak-fake-nccl", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Meeting)) != 0) return kInvalidUsage;
  std::snprintf(id->bytes, sizeof(id->bytes), "/proc/%d/fd/%d", getpid(), file);
  return kSuccess;
}

EXPORT int ncclCommInitRank(Comm** made, int size, UniqueId id, int rank) {
  if (rank < 0 || rank >= size || size > kMostRanks) return kInvalidArgument;
  const int file = open(id.bytes, O_RDWR | O_CLOEXEC);
  void* const memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return kInvalidUsage;
  auto* const meeting = static_cast<Meeting*>(memory);
  *made = new Comm{rank, size, meeting, faults()};
  while ((*made)->faults.absent && rank == 1) usleep(1000);
  ++meeting->come;
  while (meeting->come < size) usleep(100);
  return kSuccess;
}

EXPORT int ncclCommDestroy(Comm* comm) {
  while (comm->open > 0 || comm->alive.use_count() > 1) usleep(100);
  comm->aborted = true;
  munmap(comm->meeting, sizeof(Meeting));
  if (!comm->local.empty() || !comm->symmetric.empty()) {
    std::fprintf(stderr, "fake NCCL: memory is registered still\n");
    std::abort();
  }
  return kSuccess;
}

EXPORT int ncclCommAbort(Comm* comm) {
  comm->aborted = true;
  comm->local.clear();
  comm->symmetric.clear();
  return ncclCommDestroy(comm);
}

#ifndef WITHOUT_REGISTRATION
EXPORT int ncclMemAlloc(void** memory, std::size_t bytes) {
  static auto* const allocate = of_driver<int(void**, std::size_t)>("cuMemAlloc_v2");
  return allocate(memory, bytes) == 0 ? kSuccess : kUnhandledCudaError;
}

EXPORT int ncclMemFree(void* memory) {
  static auto* const free_memory = of_driver<int(void*)>("cuMemFree_v2");
  return free_memory(memory) == 0 ? kSuccess : kUnhandledCudaError;
}

// A handle is where its memory begins.
EXPORT int ncclCommRegister(Comm* comm, void* memory, std::size_t bytes, void** handle) {
  char* const where = storage(memory, bytes);
  if (where == nullptr) return kInvalidArgument;
  *handle = nullptr;
  if (comm->faults.unregistered) return kSuccess;
  comm->local[where] = bytes;
  *handle = where;
  return kSuccess;
}

EXPORT int ncclCommDeregister(Comm* comm, void* handle) {
  return comm->local.erase(static_cast<char*>(handle)) == 1 ? kSuccess : kInvalidArgument;
}
#endif

#if !defined(WITHOUT_REGISTRATION) && !defined(WITHOUT_WINDOWS)
// All ranks come, with as many bytes of memory that begins on a page.
EXPORT int ncclCommWindowRegister(Comm* comm, void* memory, std::size_t bytes, void** window,
                                  int flags) {
  constexpr std::size_t kPage = 4096;
  char* const where = storage(memory, bytes);
  if (where == nullptr || flags != 1 || reinterpret_cast<std::uintptr_t>(memory) % kPage != 0)
    return kInvalidArgument;
  const auto rank = static_cast<std::size_t>(comm->rank);
  comm->meeting->window_bytes[rank] = bytes;
  const std::uint64_t mine = ++comm->meeting->windows[rank];
  for (int other = 0; other < comm->size; ++other) {
    const auto at = static_cast<std::size_t>(other);
    while (comm->meeting->windows[at] < mine) usleep(100);
    if (comm->meeting->windows[at] == mine && comm->meeting->window_bytes[at] != bytes)
      return kInvalidArgument;
  }
  *window = nullptr;
  if (comm->faults.windowless == comm->rank) return kUnhandledCudaError;
  if (comm->faults.unregistered) return kSuccess;
  comm->symmetric[where] = bytes;
  *window = where;
  return kSuccess;
}

EXPORT int ncclCommWindowDeregister(Comm* comm, void* window) {
  return comm->symmetric.erase(static_cast<char*>(window)) == 1 ? kSuccess : kInvalidArgument;
}
#endif

EXPORT int ncclCommGetAsyncError(Comm* comm, int* error) {
  *error = comm->broken ? kRemoteError : kSuccess;
  return kSuccess;
}

EXPORT int ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}

EXPORT int ncclGroupEnd() { return --group.depth == 0 ? flush() : kSuccess; }

EXPORT int ncclSend(const void* out, std::size_t count, int type, int peer, Comm* comm,
                    void* stream) {
  return message(true, out, count, type, peer, comm, stream);
}

EXPORT int ncclRecv(void* in, std::size_t count, int type, int peer, Comm* comm, void* stream) {
  return message(false, in, count, type, peer, comm, stream);
}

EXPORT int ncclAllReduce(const void* out, void* in, std::size_t count, int type, int, Comm* comm,
                         void* stream) {
  return reduction(comm, out, in, count, 0, count, type, everyone(*comm), stream);
}

EXPORT int ncclReduce(const void* out, void* in, std::size_t count, int type, int, int root,
                      Comm* comm, void* stream) {
  return reduction(comm, out, in, count, 0, count, type, {root}, stream);
}

EXPORT int ncclReduceScatter(const void* out, void* in, std::size_t count, int type, int,
                             Comm* comm, void* stream) {
  const auto ranks = static_cast<std::size_t>(comm->size);
  return reduction(comm, out, in, count * ranks, count * static_cast<std::size_t>(comm->rank),
                   count, type, everyone(*comm), stream);
}

EXPORT int ncclAllGather(const void* out, void* in, std::size_t count, int type, Comm* comm,
                         void* stream) {
  if (const int error = begin(comm); error != kSuccess) return error;
  const std::size_t bytes = count * bytes_of(type);
  const std::size_t whole = bytes * static_cast<std::size_t>(comm->size);
  const char* const from = storage(out, bytes);
  char* const to = storage(in, whole);
  if (bytes == 0 || from == nullptr || to == nullptr) return kInvalidArgument;
  return enqueue(comm, stream, [=] {
    const std::vector<char> before(to, to + whole);
    const std::vector<char> all = Gathered{comm, from, bytes}.at(everyone(*comm));
    std::memcpy(to, all.data(), whole);
    poison(*comm, to, whole, before, bytes);
  });
}

EXPORT int ncclBroadcast(const void* out, void* in, std::size_t count, int type, int root,
                         Comm* comm, void* stream) {
  if (const int error = begin(comm); error != kSuccess) return error;
  const std::size_t bytes = count * bytes_of(type);
  const bool leads = comm->rank == root;
  const char* const from = leads ? storage(out, bytes) : nullptr;
  char* const to = storage(in, bytes);
  if (bytes == 0 || to == nullptr || (leads && from == nullptr)) return kInvalidArgument;
  return enqueue(comm, stream, [=] {
    const std::vector<char> before(to, to + bytes);
    std::vector<char> sent;
    if (leads) sent.assign(from, from + bytes);
    std::vector<Part> parts;
    for (int rank = 0; leads && rank < comm->size; ++rank)
      parts.push_back({comm, true, rank, sent.data(), bytes});
    parts.push_back({comm, false, root, to, bytes});
    move(parts);
    if (!leads) poison(*comm, to, bytes, before, bytes);
  });
}
