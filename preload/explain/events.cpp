// SPDX-License-Identifier: Apache-2.0
#include "explain/events.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>

namespace nearpeak::explain {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeaderBytes = (sizeof(Header) + kPage - 1) / kPage * kPage;
constexpr std::uint64_t kOfHostAlone = 3;  // of four places

std::atomic<Header*> header{nullptr};
Event* events[kAreas] = {};
// Until there is a file: as the driver is loaded before the first mark.
Header known{};
Header* made = nullptr;
std::mutex naming;  // and all else of the header but events
int texts = 0;
std::atomic<std::uint32_t> threads{0};
constexpr std::uint32_t kNoThread = ~0U;
[[gnu::tls_model("initial-exec")]] thread_local std::uint32_t thread = kNoThread;
[[gnu::tls_model("initial-exec")]] thread_local bool own = false;
[[gnu::tls_model("initial-exec")]] thread_local volatile bool reading = false;
// Of the thread that prepares, while it makes calls to see what that costs.
[[gnu::tls_model("initial-exec")]] thread_local Header* prepared = nullptr;
bool waits = false;  // for begin()

// Where this thread keeps its events; null: nowhere.
Header* kept() { return prepared != nullptr ? prepared : header.load(std::memory_order_acquire); }

Header& head() { return made != nullptr ? *made : known; }

// The earliest instant of what found no place.
void lose(std::uint64_t& lost_from_ns, std::uint64_t begin_ns) {
  const std::atomic_ref earliest(lost_from_ns);
  std::uint64_t known_ns = earliest.load();
  while ((known_ns == 0 || begin_ns < known_ns) &&
         !earliest.compare_exchange_weak(known_ns, begin_ns)) {
  }
}

void place(Header& there, Area area, Event event) {
  const std::uint64_t number = std::atomic_ref(there.begun[area]).fetch_add(1);
  if (number >= there.room[area]) return lose(there.lost_from_ns[area], event.begin_ns);
  Event& kept = events[area][number];
  const Kind kind = std::exchange(event.kind, Kind::kNone);
  kept = event;
  std::atomic_ref(kept.kind).store(kind, std::memory_order_release);  // who reads it finds the rest
}

// A child has a copy of all this, and the same file.
void keep_nothing() {
  prepared = nullptr;
  waits = false;
  header.store(nullptr);
}

void complain(const char* path) {
  std::fprintf(stderr, "nearpeak explain: cannot make %s: %s (set TMPDIR to another folder)\n",
               path, std::strerror(errno));
}

}  // namespace

bool recording() { return kept() != nullptr; }

std::uint64_t now_ns() {
  timespec t{};
  const bool in_reading = reading;  // in a signal's handler
  reading = true;
  clock_gettime(CLOCK_MONOTONIC, &t);
  reading = in_reading;
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

void add(Kind kind, std::uint16_t name, std::uint64_t begin_ns, std::uint64_t end_ns,
         std::uint64_t bytes) {
  Header* const there = kept();
  if (there == nullptr) return;
  if (thread == kNoThread) thread = threads.fetch_add(1);
  place(*there, kOfHost, {begin_ns, end_ns, bytes, thread, name, kind, own});
}

void add_of_device(Kind kind, std::uint16_t name, std::uint64_t begin_ns, std::uint64_t end_ns,
                   std::uint64_t bytes, std::uint32_t call) {
  if (Header* const there = kept())
    place(*there, kOfDevice, {begin_ns, end_ns, bytes, call, name, kind, 0});
}

void own_work(bool begins) { own = begins; }
bool is_own_work() { return own; }
bool reads_clock() { return reading; }

void name(int number, const char* text) {
  const std::lock_guard lock(naming);
  char* const place = head().names[number];
  if (*place == '\0') std::snprintf(place, kNameBytes, "%s", text);
}

std::uint16_t text_number(const char* text) {
  const std::lock_guard lock(naming);
  auto* const names = head().names;
  int found = kFirstText;
  while (found < kFirstText + texts && std::strncmp(names[found], text, kNameBytes - 1) != 0)
    ++found;
  if (found == kNames) return kNames - 1;
  if (found == kFirstText + texts) {
    std::snprintf(names[found], kNameBytes, "%s", text);
    ++texts;
  }
  return static_cast<std::uint16_t>(found);
}

void for_samples(std::uint16_t (*name_of)(std::uint64_t address)) {
  static std::uint64_t next = 0;
  const Header* const there = kept();
  if (there == nullptr) return;
  for (; next < std::min(there->begun[kOfHost], there->room[kOfHost]); ++next) {
    Event& event = events[kOfHost][next];
    if (std::atomic_ref(event.kind).load(std::memory_order_acquire) == Kind::kSample)
      event.name = name_of(event.bytes);
  }
}

void device_seen(const char* why_not) {
  const std::lock_guard lock(naming);
  std::snprintf(head().device, sizeof known.device, "%s", why_not);
}

void same_instant(Instant instant) {
  const std::lock_guard lock(naming);
  (head().first.ns == 0 ? head().first : head().last) = instant;
}

void dropped(std::uint64_t records) {
  const std::lock_guard lock(naming);
  head().dropped += records;
}

std::uint32_t cost_ns(void (*call)()) {
  constexpr std::uint64_t kCalls = 1000;
  if (prepared == nullptr || prepared->room[kOfHost] < kCalls) return 0;
  std::uint64_t& begun = prepared->begun[kOfHost];
  const std::uint64_t begin_ns = now_ns();
  for (std::uint64_t i = 0; i < kCalls; ++i) call();
  std::uint64_t cost = now_ns() - begin_ns;
  const bool seen = begun == kCalls;
  for (Event* event = events[kOfHost]; begun > 0; ++event, --begun) {
    cost -= std::min(cost, event->end_ns - event->begin_ns);
    *event = {};
  }
  return seen ? static_cast<std::uint32_t>(cost / kCalls) : 0;
}

void costs(std::uint32_t driver_call_ns, std::uint32_t host_call_ns) {
  head().driver_call_ns = driver_call_ns;
  head().host_call_ns = host_call_ns;
  prepared = nullptr;
}

bool prepare(int rank, int ranks) {
  const char* const folder = std::getenv("NEARPEAK_EXPLAIN");
  const char* const bytes = std::getenv("NEARPEAK_EXPLAIN_BYTES");
  static std::atomic<bool> tried{false};
  if (folder == nullptr || bytes == nullptr || tried.exchange(true)) return false;
  const std::uint64_t places = std::strtoull(bytes, nullptr, 10) / sizeof(Event);
  const std::lock_guard lock(naming);
  known.process = static_cast<int>(getpid());
  known.rank = rank;
  known.ranks = ranks;
  known.header_bytes = kHeaderBytes;
  known.room[kOfHost] = places * kOfHostAlone / 4;
  known.room[kOfDevice] = places - known.room[kOfHost];
  std::memcpy(known.magic, "NPEXPL3", 8);
  char host[64]{};
  gethostname(host, sizeof host - 1);
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%s-%d.events", folder, host, known.process);
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    complain(path);
    return false;
  }
  const std::size_t size = kHeaderBytes + places * sizeof(Event);
  // Its space is taken at once: a full disk would end the process where it is written to later.
  errno = posix_fallocate(file, 0, static_cast<off_t>(size));
  void* place = MAP_FAILED;
  if (errno == 0) place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) complain(path);
  close(file);
  if (place == MAP_FAILED) return false;
  // Its page faults are taken now, and not while messages are under way. MAP_POPULATE only reads,
  // after which the first write to a page of a file is a fault again.
  for (std::size_t at = 0; at < size; at += kPage) static_cast<volatile char*>(place)[at] = 0;
  made = static_cast<Header*>(place);
  *made = known;
  events[kOfHost] = reinterpret_cast<Event*>(static_cast<char*>(place) + kHeaderBytes);
  events[kOfDevice] = events[kOfHost] + made->room[kOfHost];
  pthread_atfork(nullptr, nullptr, keep_nothing);
  prepared = made;
  waits = true;
  return true;
}

void begin() {
  if (!waits) return;
  waits = false;
  header.store(made, std::memory_order_release);
}

}  // namespace nearpeak::explain
