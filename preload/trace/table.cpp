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
#include <utility>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "options/launched.hpp"

namespace nearpeak::trace {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
constexpr std::size_t kHeaderBytes = whole_pages(sizeof(Header));
constexpr std::size_t kSectionBytes = whole_pages(sizeof(Section));

Name names[kOperations];
std::atomic<int> named{1};
std::atomic_flag naming = ATOMIC_FLAG_INIT;

std::atomic<Header*> header{nullptr};
Header* made = nullptr;  // the same, kept while nothing is counted
std::atomic<int> threads{0};
int file = -1;
std::size_t file_bytes = 0;
std::atomic_flag growing = ATOMIC_FLAG_INIT;

// The cells of one thread, by their keys.
struct Mine {
  Section* first;
  Section* last;
  int used;      // cells of the last
  Cell** index;  // open addressing
  std::size_t mask;
  std::size_t known;
  bool homeless;  // there is no place for more
};
// The library is loaded before the program starts: its variables have fixed places.
[[gnu::tls_model("initial-exec")]] thread_local Mine mine{};

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

// What the file has from here on: its space is taken at once, as a full disk would end the program
// where it is written to later.
void* map(std::size_t bytes) {
  do {  // a profiler's signals may interrupt it
    errno = posix_fallocate(file, static_cast<off_t>(file_bytes), static_cast<off_t>(bytes));
  } while (errno == EINTR);
  if (errno != 0) return nullptr;
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                           static_cast<off_t>(file_bytes));
  if (place == MAP_FAILED) return nullptr;
  file_bytes += bytes;
  return place;
}

// More cells for this thread.
bool grow(Mine& own) {
  static_assert(sizeof(Section) <= kSectionBytes && kSectionBytes == 4 * kPage);
  if (own.homeless) return false;
  std::uint64_t thread = 0;
  if (own.first == nullptr)
    thread = static_cast<std::uint64_t>(threads.fetch_add(1));
  else
    thread = own.first->thread;
  Section* place = nullptr;
  if (thread < kThreads) {
    while (growing.test_and_set()) {
    }
    place = static_cast<Section*>(map(kSectionBytes));
    if (place != nullptr) {
      place->thread = thread;
      place->bytes = kSectionBytes;
    }
    growing.clear();
  }
  if (place == nullptr) {
    own.homeless = true;
    return false;
  }
  if (own.first == nullptr) own.first = place;
  own.last = place;
  own.used = 0;
  return true;
}

std::size_t slot_of(std::uint64_t key, std::size_t mask) {
  return (key * 0x9E3779B97F4A7C15U >> 20U) & mask;
}

// Frees the index when its thread ends.
struct End {
  bool armed = false;
  ~End() {
    std::free(mine.index);
    mine = {};
  }
};

bool enlarge_index(Mine& own) {
  static thread_local End end;
  end.armed = true;

  const std::size_t slots = own.index == nullptr ? 256 : 2 * (own.mask + 1);
  auto** const index = static_cast<Cell**>(std::calloc(slots, sizeof(Cell*)));
  if (index == nullptr) return false;
  for (std::size_t i = 0; own.index != nullptr && i <= own.mask; ++i) {
    if (own.index[i] == nullptr) continue;
    std::size_t slot = slot_of(own.index[i]->key, slots - 1);
    while (index[slot] != nullptr) slot = (slot + 1) & (slots - 1);
    index[slot] = own.index[i];
  }
  std::free(own.index);
  own.index = index;
  own.mask = slots - 1;
  return true;
}

// A cell that this thread has not used yet; null where there is no place.
Cell* new_cell(Mine& own, std::uint64_t key) {
  if (own.last == nullptr || own.used == kCells)
    if (!grow(own)) return nullptr;
  if (own.index == nullptr || 2 * own.known > own.mask)
    if (!enlarge_index(own)) return nullptr;
  Cell* const cell = &own.last->cells[own.used++];
  cell->key = key;
  std::size_t slot = slot_of(key, own.mask);
  while (own.index[slot] != nullptr) slot = (slot + 1) & own.mask;
  own.index[slot] = cell;
  ++own.known;
  own.last->instant = instant();
  return cell;
}

Cell* cell_of(Mine& own, std::uint64_t key) {
  if (own.index != nullptr)
    for (std::size_t slot = slot_of(key, own.mask); own.index[slot] != nullptr;
         slot = (slot + 1) & own.mask)
      if (own.index[slot]->key == key) return own.index[slot];
  return new_cell(own, key);
}

int number(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

// As many ranks as the launcher says that it has started.
int launched() {
  return std::max(
      {number("OMPI_COMM_WORLD_SIZE"), number("PMI_SIZE"), number("SLURM_STEP_NUM_TASKS")});
}

// One of a host's ranks speaks for all of them.
bool speaks() {
  for (const char* const name : kLocalRank)
    if (const char* const value = std::getenv(name)) return std::atoi(value) == 0;
  return true;
}

void complain(const Header& head, const char* path) {
  if (!speaks()) return;
  std::fprintf(stderr,
               "nearpeak trace: ranks on %s are not counted: cannot make %s: %s (set TMPDIR to a "
               "folder that all hosts share)\n",
               head.host, path, std::strerror(errno));
}

// With all names that are known by now.
void count_in(Header* head) {
  while (naming.test_and_set()) {
  }
  std::memcpy(head->names, names, sizeof names);
  header.store(head);
  naming.clear();
}

// What was since the end is no time of the run.
void go_on() {
  if (made->process != static_cast<int>(getpid())) return;  // forked: it is the parent's
  const std::uint64_t now = ticks();
  made->begun += now - made->finalized;
  made->finalized = 0;
  if (mine.first != nullptr) mine.first->last = now;
  count_in(made);
}

}  // namespace

std::uint64_t ticks() {
#if defined(__x86_64__)
  if (counter) return __rdtsc();
#endif
  return nanoseconds();
}

int operation(const char* name, bool begins) {
  while (naming.test_and_set()) {
  }
  int found = 1;
  const int known = named.load();
  while (found < known && std::strcmp(names[found].text, name) != 0) ++found;
  if (found == kOperations) {
    found = 0;
  } else if (found == known) {
    std::snprintf(names[found].text, kNameBytes, "%s", name);
    names[found].begins = begins ? 1 : 0;
    named.store(known + 1);
    if (Header* const head = header.load()) head->names[found] = names[found];
  }
  naming.clear();
  return found;
}

void begin(int rank, int ranks) {
  const char* const folder = std::getenv("NEARPEAK_TRACE");
  if (folder == nullptr || header.load() != nullptr) return;
  if (made != nullptr) return go_on();
  static bool tried = false;
  if (std::exchange(tried, true)) return;
  static Header head{};
  gethostname(head.host, sizeof head.host - 1);
  head.rank = rank;
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%s-%d-%d.trace", folder, head.host, rank,
                static_cast<int>(getpid()));
  file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return complain(head, path);
  auto* const place = static_cast<Header*>(map(kHeaderBytes));
  if (place == nullptr) return complain(head, path);
  std::memcpy(head.magic, "NPTRAC2", 8);
  head.header_bytes = kHeaderBytes;
  head.operations = kOperations;
  head.ranks = ranks;
  head.launched = launched();
  head.process = static_cast<int>(getpid());
  // Two instants so far apart that a rank which dies at once knows how long a tick is.
  head.first = instant();
  while (nanoseconds() - head.first.ns < 200'000) {
  }
  head.last = instant();
  head.begun = head.last.ticks;
  *place = head;
  made = place;
  count_in(place);
}

void end() {
  Header* const head = header.load();
  if (head == nullptr) return;
  head->last = instant();
  head->finalized = head->last.ticks;
  header.store(nullptr);
}

bool counting() { return header.load(std::memory_order_relaxed) != nullptr; }

void add(const Kind& kind, std::uint64_t ticks, std::uint64_t now) {
  Header* const head = header.load(std::memory_order_relaxed);
  if (head == nullptr) return;
  const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
  const auto size =
      kind.bytes < 0
          ? 0U
          : bits(std::min(kSizes - 1, 1 + static_cast<int>(std::bit_width(bits(kind.bytes)))));
  const int peer = kind.peer == kNull ? kNobody : kind.peer;
  const std::uint64_t key = bits(kind.operation) << 48U | bits(kind.maker) << 39U | size << 33U |
                            bits(kind.device ? 1 : 0) << 32U |
                            (bits(std::int64_t{peer} + 2) & 0xFFFFFFFFU);
  Cell* const cell = kind.operation == 0 ? nullptr : cell_of(mine, key);
  if (cell == nullptr) {
    std::atomic_ref(head->lost).fetch_add(1);
    return;
  }
  ++cell->count;
  if (kind.bytes > 0 && kind.peer != kNull) cell->bytes += bits(kind.bytes);
  cell->ticks += ticks;
  cell->longest = std::max(cell->longest, ticks);
  mine.first->last = now;
}

}  // namespace nearpeak::trace
