// SPDX-License-Identifier: Apache-2.0
#include "explain/events.hpp"

#include <fcntl.h>
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

namespace nearpeak::explain {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeaderBytes = (sizeof(Header) + kPage - 1) / kPage * kPage;
constexpr std::size_t kFileBytes = kHeaderBytes + kEvents * sizeof(Event);

std::atomic<Header*> header{nullptr};
Event* events = nullptr;
// Until there is a file: as the driver is loaded before the first mark.
Header known{};
std::mutex naming;  // and all else of the header but events
int texts = 0;
std::atomic<int> threads{0};
[[gnu::tls_model("initial-exec")]] thread_local int thread = -1;

Header& head() {
  Header* const there = header.load(std::memory_order_acquire);
  return there != nullptr ? *there : known;
}

void complain(const char* path) {
  std::fprintf(stderr, "nearpeak explain: cannot make %s: %s (set TMPDIR to another folder)\n",
               path, std::strerror(errno));
}

}  // namespace

bool recording() { return header.load(std::memory_order_relaxed) != nullptr; }

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

void add(Kind kind, std::uint16_t name, std::uint64_t begin_ns, std::uint64_t end_ns,
         std::uint64_t bytes, std::uint32_t correlation) {
  Header* const there = header.load(std::memory_order_acquire);
  if (there == nullptr) return;
  if (thread < 0) thread = threads.fetch_add(1) & 0xFF;
  const std::uint64_t place = std::atomic_ref(there->begun).fetch_add(1);
  if (place >= kEvents) return;
  Event& event = events[place];
  event = {
      begin_ns, end_ns, bytes, correlation, name, Kind::kNone, static_cast<std::uint8_t>(thread)};
  event.kind = kind;
}

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
  Header* const there = header.load();
  if (there == nullptr) return;
  for (; next < std::min<std::uint64_t>(there->begun, kEvents); ++next)
    if (events[next].kind == Kind::kSample) events[next].name = name_of(events[next].bytes);
}

void device_seen(const char* why_not) {
  const std::lock_guard lock(naming);
  std::snprintf(head().device, sizeof known.device, "%s", why_not);
}

void same_instant(Instant instant) {
  const std::lock_guard lock(naming);
  (head().first.ns == 0 ? head().first : head().last) = instant;
}

std::uint32_t cost_ns(void (*call)()) {
  constexpr std::uint64_t kCalls = 1000;
  Header* const there = header.load();
  if (there == nullptr) return 0;
  const std::uint64_t first = there->begun;
  const std::uint64_t begin_ns = now_ns();
  for (std::uint64_t i = 0; i < kCalls; ++i) call();
  std::uint64_t cost = now_ns() - begin_ns;
  for (std::uint64_t i = first; i < there->begun; ++i)
    cost -= std::min(cost, events[i].end_ns - events[i].begin_ns);
  const bool seen = there->begun == first + kCalls;
  there->begun = first;
  return seen ? static_cast<std::uint32_t>(cost / kCalls) : 0;
}

void costs(std::uint32_t driver_call_ns, std::uint32_t host_call_ns) {
  head().driver_call_ns = driver_call_ns;
  head().host_call_ns = host_call_ns;
}

bool begin(int rank, int ranks) {
  const char* const folder = std::getenv("NEARPEAK_EXPLAIN");
  if (folder == nullptr || recording()) return false;
  const std::lock_guard lock(naming);
  static bool tried = false;
  if (tried) return false;
  tried = true;
  gethostname(known.host, sizeof known.host - 1);
  known.process = static_cast<int>(getpid());
  known.rank = rank;
  known.ranks = ranks;
  known.header_bytes = kHeaderBytes;
  std::memcpy(known.magic, "NPEXPL1", 8);
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%s-%d.events", folder, known.host, known.process);
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    complain(path);
    return false;
  }
  // Its space is taken at once: a full disk would end the process where it is written to later.
  errno = posix_fallocate(file, 0, static_cast<off_t>(kFileBytes));
  void* place = MAP_FAILED;
  if (errno == 0) place = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) complain(path);
  close(file);
  if (place == MAP_FAILED) return false;
  auto* const made = static_cast<Header*>(place);
  *made = known;
  events = reinterpret_cast<Event*>(static_cast<char*>(place) + kHeaderBytes);
  header.store(made, std::memory_order_release);
  return true;
}

}  // namespace nearpeak::explain
