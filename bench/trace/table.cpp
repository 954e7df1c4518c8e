// SPDX-License-Identifier: Apache-2.0
#include "trace/table.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace nearpeak::trace {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
constexpr std::size_t kHeaderBytes = whole_pages(sizeof(Header));
constexpr std::size_t kTableBytes = whole_pages(sizeof(Table));

struct Name {
  char text[kNameBytes];
};
Name names[kOperations];
std::atomic<int> named{0};
std::atomic_flag naming = ATOMIC_FLAG_INIT;

std::atomic<Header*> header{nullptr};
std::atomic<int> threads{0};
int file = -1;
// The library is loaded before the program starts: its variables have fixed places.
[[gnu::tls_model("initial-exec")]] thread_local Table* own = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool homeless = false;

std::uint64_t nanoseconds() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

#if defined(__x86_64__)
// Whether the processor's counter goes on at one pace, whatever the core does.
bool steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & 0x100U) != 0;
}
const bool counter = steady();
#endif

Instant instant() { return {ticks(), nanoseconds()}; }

void complain(const char* what, const char* name) {
  std::fprintf(stderr, "nearpeak trace: %s %s: %s\n", what, name, std::strerror(errno));
}

// A part of the file, which is made to be that long.
void* map(std::size_t offset, std::size_t bytes, std::size_t whole) {
  if (ftruncate(file, static_cast<off_t>(whole)) != 0) return nullptr;
  void* const place =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  return place == MAP_FAILED ? nullptr : place;
}

std::size_t begin_of_table(int number) {
  return kHeaderBytes + static_cast<std::size_t>(number) * kTableBytes;
}

// The table of this thread, which it gets here.
Table* table(Header& head) {
  const int number = homeless ? kThreads : threads.fetch_add(1);
  void* place = nullptr;
  if (number < kThreads) {
    // A thread that came later may have made the file longer already.
    static std::atomic_flag growing = ATOMIC_FLAG_INIT;
    while (growing.test_and_set()) {
    }
    const int upto = std::max(head.threads, number + 1);
    place = map(begin_of_table(number), kTableBytes, begin_of_table(upto));
    if (place != nullptr) head.threads = upto;
    growing.clear();
  }
  homeless = place == nullptr;
  own = static_cast<Table*>(place);
  return own;
}

}  // namespace

std::uint64_t ticks() {
#if defined(__x86_64__)
  if (counter) return __rdtsc();
#endif
  return nanoseconds();
}

int operation(const char* name) {
  while (naming.test_and_set()) {
  }
  int found = 0;
  const int known = named.load();
  while (found < known && std::strcmp(names[found].text, name) != 0) ++found;
  if (found == kOperations) {
    found = -1;
  } else if (found == known) {
    std::snprintf(names[found].text, kNameBytes, "%s", name);
    named.store(known + 1);
    if (Header* const head = header.load())
      std::memcpy(head->names[found], names[found].text, kNameBytes);
  }
  naming.clear();
  return found;
}

void begin(int rank, int ranks) {
  const char* const folder = std::getenv("NEARPEAK_TRACE");
  if (folder == nullptr || header.load() != nullptr) return;
  Header head{};
  gethostname(head.host, sizeof head.host - 1);
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%s-%d.trace", folder, head.host, static_cast<int>(getpid()));
  file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return complain("cannot make", path);
  auto* const place = static_cast<Header*>(map(0, kHeaderBytes, kHeaderBytes));
  if (place == nullptr) return complain("cannot map", path);
  std::memcpy(head.magic, "NPTRACE", 8);
  head.header_bytes = kHeaderBytes;
  head.table_bytes = kTableBytes;
  head.shape[0] = kOperations;
  head.shape[1] = kSizes;
  head.shape[2] = kMemories;
  head.shape[3] = kPeers;
  head.rank = rank;
  head.ranks = ranks;
  head.process = static_cast<int>(getpid());
  // Two instants so far apart that a rank which dies at once knows how long a tick is.
  head.first = instant();
  while (nanoseconds() - head.first.ns < 200'000) {
  }
  head.last = instant();
  head.begun = head.last.ticks;
  while (naming.test_and_set()) {
  }
  std::memcpy(head.names, names, sizeof names);
  *place = head;
  header.store(place);
  naming.clear();
}

void end() {
  Header* const head = header.load();
  if (head == nullptr) return;
  head->last = instant();
  head->finalized = head->last.ticks;
  header.store(nullptr);
}

bool counting() { return header.load(std::memory_order_relaxed) != nullptr; }

void add(int operation, std::int64_t bytes, bool device, Peer peer, std::uint64_t from,
         std::uint64_t to) {
  Header* const head = header.load(std::memory_order_relaxed);
  if (head == nullptr) return;
  Table* const mine = own != nullptr ? own : table(*head);
  if (mine == nullptr || operation < 0) {
    std::atomic_ref(head->lost).fetch_add(1);
    return;
  }
  const int size =
      bytes < 0 ? 0
                : std::min(kSizes - 1,
                           1 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))));
  Cell& cell = mine->cells[operation][size][device ? 1 : 0][static_cast<int>(peer)];
  if (cell.count == 0) head->last = instant();
  ++cell.count;
  if (bytes > 0) cell.bytes += static_cast<std::uint64_t>(bytes);
  cell.ticks += to - from;
  cell.longest = std::max(cell.longest, to - from);
  mine->last = to;
}

}  // namespace nearpeak::trace
