// SPDX-License-Identifier: Apache-2.0
// A CUDA driver without a GPU: two devices whose memory lies behind addresses that fault when the
// CPU touches them. It is as unforgiving as the real one and more: work given to a stream is done
// when somebody waits for it and not before, a context must be current, copies must stay within an
// allocation, and a process forked after cuInit cannot use it. While a stream is captured, all but
// work for another stream fails and breaks the capture, in a thread that has not said that it
// knows. What the stream is given then becomes a graph, and is done by each launch of it. One
// thread at a time is in a call.
//
// Each context has a default stream, by the handles 0 and 1 (CU_STREAM_LEGACY), which no other one
// waits for: all others are as if made with CU_STREAM_NON_BLOCKING.
//
// Kernels are those of the fake NVRTC (fake_nvrtc.cpp), and run on the CPU. Most are work like any
// other. One that may wait for CPUs or other kernels runs from its launch on, in threads of its own
// that end before somebody has waited for it; what its stream had before is finished first.
//
// The environment's NEARPEAK_FAKE_CUDA, read by cuInit, is a comma list of
//   CALL:ERROR     this call always fails with this error; -1: it kills the process
//   CALL:ERROR:N   its Nth call does
//   devices=N  driver=VERSION  peer=0 (no peer access)  prohibited=N (compute mode of device N)
//   reachable=1 (the CPU may touch device memory, so that any MPI library can stand for one that
//   knows devices)  corrupt=1 (the last byte of every copy to a device is wrong; what kernels store
//   is left alone)  reversed=1 (the devices are in the other order, as CUDA_VISIBLE_DEVICES can put
//   them)  fastest=1 (the second device is the faster one, and thus the first unless
//   CUDA_DEVICE_ORDER is PCI_BUS_ID)  eager=1 (work of streams of the least priority is done as
//   early as it can be, so that it gets ahead of others')  heedless=1 (no stream waits for another)
//   blocks=1 (allocations below 2 MiB of a process share blocks, of which another process maps one
//   handle at a time) mps=1 (kernels of several processes run at once)  visible=N (this process
//   sees device N alone, as CUDA_VISIBLE_DEVICES can have it, and opens memory of the others all
//   the same)  withheld=1 (it does not open that, as where a cgroup keeps their files from it)
//   slow=N (a copy of more than 64 KiB takes N milliseconds)  flipped=A:B:N (the lowest bit of byte
//   N of every copy from device A to device B is wrong)  mig=1 (devices are instances of MIG)
//   devices=N@HOST (on this host alone)
// As the real one does, it loads the library that CUDA_INJECTION64_PATH names, and then tells the
// fake CUPTI (fake_cupti.cpp) of calls and copies.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Address = unsigned long long;

constexpr std::size_t kMemory = std::size_t{1} << 30;  // of each device
constexpr std::size_t kPage = 4096;
constexpr std::size_t kGranularity = std::size_t{2} << 20;  // of memory that is mapped by itself
constexpr int kMostDevices = 2;
constexpr int kLeastPriority = 0;
constexpr int kGreatestPriority = -5;

enum Error {
  kGood = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kAlreadyMapped = 208,
  kPeerUnsupported = 217,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kContextDestroyed = 709,
  kHostMemoryRegistered = 712,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

struct Text {
  int code;
  const char* name;
  const char* text;
};
const Text kTexts[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all is already mapped"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error"},
};

struct Device;
struct Stream;

// Of a device's memory: plain, from the pool, mapped by itself, and a module's variable.
enum class Kind {
  kPinned,
  kDevice,
  kAsync,
  kMapped,
  kSymbol,
  kManaged,
  kManagedAsync,
  kOpened,
  kRegistered
};

bool of_device(Kind kind) {
  return kind == Kind::kDevice || kind == Kind::kAsync || kind == Kind::kMapped ||
         kind == Kind::kSymbol;
}

struct Allocation {
  Kind kind;
  Device* device;
  std::size_t bytes;   // as asked for
  std::size_t mapped;  // whole pages
  char* seen;          // the address that was handed out
  char* storage;       // where the bytes are: elsewhere for device memory
  int fd = -1;
  std::uint64_t serial = 0;
  Address block = 0;  // that it shares
  pid_t owner = 0;    // of one that was opened,
  Device* opener = nullptr;
  Address created = 0;  // what is mapped there
};

// Addresses where memory may be mapped.
struct Reserved {
  char* seen;
  char* storage;
  std::size_t bytes;
};

// Memory that may be mapped, as often as one likes. It is gone when nobody has it or maps it.
struct Created {
  Device* device;
  std::size_t bytes;
  int fd;
  bool for_files;   // whether it may be given to other processes
  bool taken;       // from one
  int holders = 1;  // who have its handle,
  int mappings = 0;
};

// Also a context of its own on one.
struct Device {
  int number;
  int retained = 0;
  std::size_t used = 0;
  std::uint64_t id = 0;  // of the context; 0: it was reset, and not taken again
  std::shared_ptr<Stream> own_stream = nullptr;  // from its first use on
};

// A point in a stream.
struct Point {
  Stream* stream;
  bool reached = false;
};

struct Event {
  Device* device;
  std::shared_ptr<Point> last = nullptr;  // where it was recorded
};

constexpr const char* kCodeBegin = "kernels on the CPU: ";  // as in fake_nvrtc.cpp

struct Kernel {  // as in fake_nvrtc.cpp
  unsigned arguments;
  unsigned threads;  // that a block of it may have
  bool waits;
  const bool* pointers;
  const unsigned* words;
  void (*run)(unsigned blocks, unsigned threads, const Address* values);
};

struct Module {
  Device* device;
  void* library;  // or null, with a variable
  void* variable = nullptr;
  std::size_t bytes = 0;
  std::set<const Kernel*> kernels;  // that were asked for
};

constexpr int kPatience = 1000;  // times that somebody asks in vain

// A kernel that runs.
struct Running {
  std::atomic<bool> done{false};
  std::thread thread;
  int asked = 0;
};

struct Work {
  std::function<void()> action;
  // What the action waits for.
  std::shared_ptr<Running> running = nullptr;
  std::shared_ptr<Point> point = nullptr;
};

// What is done in the order of its recording, by a thread of its own at each launch.
struct Graph {
  std::vector<std::function<void()>> actions;
};

struct Stream {
  Device* device;
  int priority;
  std::deque<Work> work;

  void give(Work more) {
    if (Graph* const graph = recording()) return graph->actions.push_back(std::move(more.action));
    work.push_back(std::move(more));
    be_eager();
  }
  bool step() {
    if (work.empty()) return false;
    const Work next = std::move(work.front());
    work.pop_front();
    next.action();
    return true;
  }
  // The same for who does not wait.
  bool poll() {
    if (work.empty()) return false;
    const Work& next = work.front();
    if (next.point && !next.point->reached) return next.point->stream->poll();
    if (!next.running || next.running->done) return step();
    if (++next.running->asked < kPatience)
      sched_yield();
    else
      usleep(10);  // other programs have the CPUs, too
    return true;
  }
  // What need not wait for another stream.
  void advance() {
    while (!work.empty() && !work.front().running &&
           (!work.front().point || work.front().point->reached))
      step();
  }
  static void be_eager();
  // What it is recorded into; null: it is not.
  Graph* recording() const;
  void finish() {
    while (step()) {
    }
  }
};

struct Fault {
  int error;
  int at;  // 0: always
  int calls = 0;
};

struct State {
  pid_t pid = 0;  // of the process that initialised
  int devices = kMostDevices;
  int driver = 12040;
  bool peer = true;
  int prohibited = -1;
  bool reachable = false;
  bool corrupt = false;
  bool reversed = false;
  bool eager = false;
  bool blocks = false;
  bool heedless = false;
  bool mps = false;
  int visible = -1;
  bool mig = false;
  bool withheld = false;
  int slow_ms = 0;
  int flipped_from = -1;
  int flipped_to = -1;
  std::size_t flipped_byte = 0;
  std::map<std::string, Fault> faults;
  Device device[kMostDevices] = {{0}, {1}};
  Device unseen{-2};
  std::map<char*, Allocation> allocations;  // by the address handed out
  std::map<char*, Reserved> reserved;       // by their first address
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<const void*> lost;  // streams, events and modules, by a reset
  std::set<Module*> modules;
  std::set<Device*> contexts;          // that were created
  std::map<Address, Created> created;  // memory that may be mapped
  std::set<Address> pools;
  Stream* captured = nullptr;
  std::unique_ptr<Graph> recorded = nullptr;  // of it
  bool broken = false;                        // its capture
  std::set<Graph*> graphs;                    // and those that can be launched
  std::uint64_t serial = 0;
};

State& state() {
  static State all;
  return all;
}

thread_local Device* current = nullptr;
thread_local std::vector<Device*> below;  // contexts of this thread that come back to be current

void pop_context() {
  current = below.empty() ? nullptr : below.back();
  if (!below.empty()) below.pop_back();
}

// CUstreamCaptureMode of a thread, for what would disturb a capture.
constexpr int kGlobal = 0;
constexpr int kRelaxed = 2;
thread_local int capture_mode = kGlobal;

Graph* Stream::recording() const {
  return state().captured == this ? state().recorded.get() : nullptr;
}

void Stream::be_eager() {
  if (!state().eager) return;
  for (Stream* stream : state().streams)
    if (stream->priority == kLeastPriority) stream->advance();
}

void configure() {
  State& all = state();
  all.devices = kMostDevices;
  all.driver = 12040;
  all.peer = true;
  all.prohibited = -1;
  all.reachable = all.corrupt = all.reversed = all.eager = all.heedless = all.blocks = all.mps =
      false;
  all.visible = -1;
  all.mig = false;
  all.withheld = false;
  all.slow_ms = 0;
  all.flipped_from = all.flipped_to = -1;
  all.faults.clear();
  const char* text = std::getenv("NEARPEAK_FAKE_CUDA");
  std::stringstream list(text == nullptr ? "" : text);
  for (std::string item; std::getline(list, item, ',');) {
    int value = 0;
    if (std::sscanf(item.c_str(), "flipped=%d:%d:%zu", &all.flipped_from, &all.flipped_to,
                    &all.flipped_byte) == 3) {
    } else if (char host[64] = ""; std::sscanf(item.c_str(), "devices=%d@%63s", &value, host) > 0) {
      char here[64] = "";
      gethostname(here, sizeof here - 1);
      if (*host == '\0' || std::string(host) == here) all.devices = value;
    } else if (std::sscanf(item.c_str(), "driver=%d", &value) == 1) {
      all.driver = value;
    } else if (std::sscanf(item.c_str(), "peer=%d", &value) == 1) {
      all.peer = value != 0;
    } else if (std::sscanf(item.c_str(), "prohibited=%d", &value) == 1) {
      all.prohibited = value;
    } else if (std::sscanf(item.c_str(), "reachable=%d", &value) == 1) {
      all.reachable = value != 0;
    } else if (std::sscanf(item.c_str(), "corrupt=%d", &value) == 1) {
      all.corrupt = value != 0;
    } else if (std::sscanf(item.c_str(), "reversed=%d", &value) == 1) {
      all.reversed = value != 0;
    } else if (std::sscanf(item.c_str(), "fastest=%d", &value) == 1) {
      const char* order = std::getenv("CUDA_DEVICE_ORDER");
      all.reversed = value != 0 && (order == nullptr || std::string(order) != "PCI_BUS_ID");
    } else if (std::sscanf(item.c_str(), "eager=%d", &value) == 1) {
      all.eager = value != 0;
    } else if (std::sscanf(item.c_str(), "blocks=%d", &value) == 1) {
      all.blocks = value != 0;
    } else if (std::sscanf(item.c_str(), "heedless=%d", &value) == 1) {
      all.heedless = value != 0;
    } else if (std::sscanf(item.c_str(), "mps=%d", &value) == 1) {
      all.mps = value != 0;
    } else if (std::sscanf(item.c_str(), "visible=%d", &value) == 1) {
      all.visible = value;
      all.devices = 1;
    } else if (std::sscanf(item.c_str(), "mig=%d", &value) == 1) {
      all.mig = value != 0;
    } else if (std::sscanf(item.c_str(), "withheld=%d", &value) == 1) {
      all.withheld = value != 0;
    } else if (std::sscanf(item.c_str(), "slow=%d", &value) == 1) {
      all.slow_ms = value;
    } else {
      char call[64] = "";
      Fault fault{0, 0};
      if (std::sscanf(item.c_str(), "%63[^:]:%d:%d", call, &fault.error, &fault.at) < 2) {
        std::fprintf(stderr, "fake CUDA: what is '%s'?\n", item.c_str());
        std::abort();
      }
      all.faults[call] = fault;
    }
  }
}

int injected(const char* call) {
  auto& faults = state().faults;
  const auto found = faults.find(call);
  if (found == faults.end()) return kGood;
  Fault& fault = found->second;
  ++fault.calls;
  if (fault.at != 0 && fault.calls != fault.at) return kGood;
  if (fault.error < 0) std::raise(SIGKILL);
  return fault.error;
}

// The fake CUPTI, where an injected library has loaded it.
struct Told {
  void (*call)(std::uint32_t, const char*, const void*) = nullptr;
  void (*copied)(int, int, int, std::uint64_t, std::uint64_t, std::uint64_t) = nullptr;
} told;

void inject() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr || told.call != nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  if (auto* const begin = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")))
    begin();
  const char* const cupti = std::getenv("NEARPEAK_CUPTI_LIBRARY");
  void* const loaded = cupti == nullptr ? nullptr : dlopen(cupti, RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) return;
  told.call = reinterpret_cast<decltype(told.call)>(dlsym(loaded, "fake_cupti_call"));
  told.copied = reinterpret_cast<decltype(told.copied)>(dlsym(loaded, "fake_cupti_copied"));
}

// Never destroyed: threads may call while the program ends.
std::recursive_mutex& calling = *new std::recursive_mutex;

// A call, from its begin to its end.
struct Called {
  const std::lock_guard<std::recursive_mutex> alone{calling};
  const char* name;
  const void* parameters = nullptr;
  explicit Called(const char* function) : name(function) {
    if (told.call != nullptr) told.call(0, name, nullptr);
  }
  ~Called() {
    if (told.call != nullptr) told.call(1, name, parameters);
  }
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;
};

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// What stops a call before it begins.
#define BEGIN_CALL()                                                                      \
  [[maybe_unused]] Called this_call(__func__);                                            \
  do {                                                                                    \
    if (state().pid != getpid()) return kNotInitialized;                                  \
    if (const int begin_error = injected(__func__); begin_error != 0) return begin_error; \
  } while (false)
#define BEGIN_CONTEXT_CALL()                                                  \
  BEGIN_CALL();                                                               \
  do {                                                                        \
    if (current == nullptr || current->retained == 0) return kInvalidContext; \
    if (current->id == 0) return kContextDestroyed;                           \
  } while (false)

// Of what waits, or takes or frees something.
#define BEGIN_UNSAFE_CALL()                                        \
  BEGIN_CONTEXT_CALL();                                            \
  do {                                                             \
    if (state().captured != nullptr && capture_mode != kRelaxed) { \
      state().broken = true;                                       \
      return kCaptureUnsupported;                                  \
    }                                                              \
  } while (false)

// The real one crashes with a stream of before a reset.
void must_not_be_lost(const void* handle) {
  if (state().lost.count(handle) == 0) return;
  std::fprintf(stderr, "fake CUDA: a stream or an event of before a reset is used\n");
  std::abort();
}
bool is_there(Stream* stream) {
  must_not_be_lost(stream);
  return state().streams.count(stream) != 0;
}

bool is_default(const Stream* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 1; }

// That of the current context.
Stream* default_stream() {
  if (!current->own_stream)
    current->own_stream = std::make_shared<Stream>(Stream{current, kLeastPriority, {}});
  return current->own_stream.get();
}

void finish_streams() {
  for (Stream* stream : state().streams) stream->finish();
}
// And default ones.
void finish_all() {
  finish_streams();
  for (Device& device : state().device)
    if (device.own_stream) device.own_stream->finish();
  for (Device* context : state().contexts)
    if (context->own_stream) context->own_stream->finish();
}

bool is_there(Event* event) {
  must_not_be_lost(event);
  return state().events.count(event) != 0;
}

// The allocation in which [address, address + bytes) begins.
Allocation* find(Address address) {
  auto& all = state().allocations;
  auto* const at = reinterpret_cast<char*>(address);
  auto next = all.upper_bound(at);
  if (next == all.begin()) return nullptr;
  Allocation& found = std::prev(next)->second;
  return at < found.seen + found.mapped ? &found : nullptr;
}

// The addresses that were reserved with this one among them.
const Reserved* find_reserved(Address address) {
  const auto& all = state().reserved;
  auto* const at = reinterpret_cast<char*>(address);
  const auto next = all.upper_bound(at);
  if (next == all.begin()) return nullptr;
  const Reserved& found = std::prev(next)->second;
  return at < found.seen + found.bytes ? &found : nullptr;
}

// Where the CPU finds these bytes; null where they leave their allocation, or, where that is one
// behind the other, what is mapped and may be used.
char* storage(Address address, std::size_t bytes) {
  auto* const at = reinterpret_cast<char*>(address);
  const Allocation* found = find(address);
  if (found == nullptr)  // pageable host memory, or nothing
    return find_reserved(address) == nullptr ? at : nullptr;
  const auto offset = static_cast<std::size_t>(at - found->seen);
  char* const there = found->storage + offset;
  if (found->kind != Kind::kMapped) return offset + bytes <= found->bytes ? there : nullptr;
  for (;;) {
    if (found->opener == nullptr) return nullptr;
    char* const end = found->seen + found->bytes;
    if (at + bytes <= end) return there;
    found = find(reinterpret_cast<Address>(end));
    if (found == nullptr || found->kind != Kind::kMapped || found->seen != end) return nullptr;
  }
}

// The kind of memory as CUPTI numbers it: pageable, pinned, device.
int kind_told(Address address) {
  const Allocation* const found = find(address);
  return found == nullptr ? 1 : of_device(found->kind) ? 3 : 2;
}

std::string file_name(std::uint64_t serial) {
  return "nearpeak-fake-cuda-" + std::to_string(serial);
}
// Of memory that is mapped by itself.
constexpr const char* kChunkLink = "/memfd:nearpeak-fake-cuda-chunk-of-%d-";
std::string chunk_name(int place, std::uint64_t serial) {
  return "nearpeak-fake-cuda-chunk-of-" + std::to_string(place) + "-" + std::to_string(serial);
}

// Addresses in the last block, or a new one.
char* in_block(std::size_t bytes) {
  static char* next = nullptr;
  static std::size_t left = 0;
  if (bytes > left) {
    void* const at = mmap(nullptr, 2 * kGranularity, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    next = static_cast<char*>(at);
    next += kGranularity - reinterpret_cast<Address>(next) % kGranularity;
    left = kGranularity;
  }
  left -= bytes;
  return std::exchange(next, next + bytes);
}

void* map(std::size_t bytes, int protection, int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
  void* at = mmap(nullptr, bytes, protection, flags, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

int allocate(Kind kind, std::size_t bytes, void** out) {
  if (bytes == 0) return kInvalidValue;
  const std::size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  const bool on_device = of_device(kind);
  if (mapped < bytes || (on_device && mapped > kMemory - current->used)) return kOutOfMemory;
  Allocation made{kind, current, bytes, mapped, nullptr, nullptr};
  made.serial = ++state().serial;
  if (on_device) {
    made.fd = memfd_create(file_name(made.serial).c_str(), MFD_CLOEXEC);
    if (made.fd < 0) return kOutOfMemory;
    if (ftruncate(made.fd, static_cast<off_t>(mapped)) != 0) {
      close(made.fd);
      return kOutOfMemory;
    }
    current->used += mapped;
  }
  made.storage = static_cast<char*>(map(mapped, PROT_READ | PROT_WRITE, made.fd));
  made.seen = on_device && !state().reachable ? static_cast<char*>(map(mapped, PROT_NONE, -1))
                                              : made.storage;
  if (state().blocks && made.seen != made.storage && mapped < kGranularity) {
    munmap(made.seen, mapped);
    made.seen = in_block(mapped);
    made.block = reinterpret_cast<Address>(made.seen) / kGranularity;
  }
  if (made.storage == nullptr || made.seen == nullptr) std::abort();
  state().allocations[made.seen] = made;
  *out = made.seen;
  return kGood;
}

int release(Address address, std::initializer_list<Kind> kinds) {
  auto& all = state().allocations;
  const auto found = all.find(reinterpret_cast<char*>(address));
  if (found == all.end()) return kInvalidValue;
  const Allocation gone = found->second;
  bool fits = false;
  for (const Kind kind : kinds) fits = fits || kind == gone.kind;
  if (!fits) return kInvalidValue;
  // Who closes what is another process's does not wait for work with its own.
  if (gone.kind == Kind::kOpened)
    finish_streams();
  else
    finish_all();
  if (gone.kind != Kind::kRegistered) munmap(gone.storage, gone.mapped);
  if (gone.seen != gone.storage) munmap(gone.seen, gone.mapped);
  if (gone.fd >= 0) close(gone.fd);
  if (of_device(gone.kind)) gone.device->used -= gone.mapped;
  all.erase(found);
  return kGood;
}

struct Handle {
  std::uint64_t magic;
  pid_t pid;
  int fd;
  int device;
  std::uint64_t serial;
  std::uint64_t bytes;
  Address block;
  std::uint64_t processes;  // the namespace of the pid
};
std::uint64_t process_namespace() {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}
constexpr std::uint64_t kMagic = 0x66616b6563756461;

struct Handle64 {
  unsigned char bytes[64];
};
static_assert(sizeof(Handle) <= sizeof(Handle64));

// Which one it is of all devices of the machine.
int place_of(int number) {
  if (state().visible >= 0) return state().visible;
  return state().reversed ? kMostDevices - 1 - number : number;
}

// That of a place.
Device* device_at(int place) {
  for (int i = 0; i < state().devices; ++i)
    if (place_of(i) == place) return &state().device[i];
  return &state().unseen;
}

bool can_reach(const Device* from, const Device* to) {
  return from->number == to->number || state().peer;
}

// Whether memory is that of the device at a place.
bool is_of(const Allocation* memory, int place) {
  return memory != nullptr && place >= 0 && memory->device == device_at(place) &&
         (of_device(memory->kind) || memory->kind == Kind::kOpened);
}

// Makes an address that a kernel was given one for the CPU. False where the device does not reach
// it: pageable memory, and another device's that was not opened.
bool on_cpu(Address& address) {
  const Allocation* found = find(address);
  if (found == nullptr) return false;
  const Device* const user = found->kind == Kind::kMapped ? found->opener : found->device;
  if (of_device(found->kind) && user != current) return false;
  const auto offset = reinterpret_cast<char*>(address) - found->seen;
  address = reinterpret_cast<Address>(found->storage + offset);
  return true;
}

// A kernel has the machine's CPUs, not that of the thread that launched it, which may wait for it
// without rest.
void leave_cpu() {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof(all));
  sched_setaffinity(0, sizeof(all), &all);
}

}  // namespace

// How many of everything but primary contexts, which stay, have been made and not ended, for the
// tests: 0 when nothing leaked.
EXPORT int fake_cuda_live() {
  return static_cast<int>(state().allocations.size() + state().streams.size() +
                          state().events.size() + state().modules.size() + state().created.size() +
                          state().graphs.size() + state().reserved.size() + state().pools.size() +
                          state().contexts.size());
}

// How much memory of other processes is open.
EXPORT int fake_cuda_opened() {
  int opened = 0;
  for (const auto& [_, each] : state().allocations) opened += each.kind == Kind::kOpened ? 1 : 0;
  for (const auto& [_, each] : state().created) opened += each.taken ? each.mappings : 0;
  return opened;
}

// Whether a stream has work that is not done, for a library that goes wrong then.
EXPORT int fake_cuda_busy() {
  bool busy = false;
  for (const Stream* stream : state().streams) busy = busy || !stream->work.empty();
  return busy ? 1 : 0;
}

// Where the CPU finds these bytes of device memory, for a library that stands for one with kernels
// of its own (fake_nccl.cpp); null where the device that is current does not have them all.
EXPORT char* fake_cuda_storage(Address address, std::size_t bytes) {
  const Allocation* found = find(address);
  if (found == nullptr || found->device != current) return nullptr;
  return storage(address, bytes);
}

EXPORT int cuDriverGetVersion(int* version) {
  configure();
  if (const int error = injected(__func__); error != 0) return error;
  *version = state().driver;
  return kGood;
}

EXPORT int cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  configure();
  if (const int error = injected(__func__); error != 0) return error;
  if (state().pid != 0 && state().pid != getpid()) return kNotInitialized;  // after fork
  state().pid = getpid();
  inject();
  return kGood;
}

EXPORT int cuGetErrorName(int error, const char** name) {
  for (const Text& each : kTexts)
    if (each.code == error) {
      *name = each.name;
      return kGood;
    }
  *name = nullptr;
  return kInvalidValue;
}

EXPORT int cuGetErrorString(int error, const char** text) {
  for (const Text& each : kTexts)
    if (each.code == error) {
      *text = each.text;
      return kGood;
    }
  *text = nullptr;
  return kInvalidValue;
}

EXPORT int cuDeviceGetCount(int* count) {
  BEGIN_CALL();
  *count = state().devices;
  return kGood;
}

EXPORT int cuDeviceGet(int* device, int index) {
  BEGIN_CALL();
  if (index < 0 || index >= state().devices) return kInvalidDevice;
  *device = index;
  return kGood;
}

EXPORT int cuDeviceGetName(char* name, int length, int device) {
  BEGIN_CALL();
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %c%s", 'A' + device,
                state().mig ? " MIG 1g.5gb" : "");
  return kGood;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  BEGIN_CALL();
  const int place = place_of(device);
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * i + place);
  return kGood;
}

EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  BEGIN_CALL();
  *bytes = kMemory;
  return kGood;
}

EXPORT int cuDeviceGetAttribute(int* value, int which, int device) {
  BEGIN_CALL();
  const std::map<int, int> values{{16, 4},  // multiprocessors
                                  {20, state().prohibited == device ? 2 : 0},
                                  {33, 0x17 + device},  // PCI bus
                                  {34, 0},              // PCI device
                                  {38, 1 << 20},        // L2 bytes
                                  {50, 0x10},           // PCI domain
                                  {75, 9},
                                  {76, 0},
                                  {133, state().mps ? 1 : 0}};
  const auto found = values.find(which);
  if (found == values.end()) return kInvalidValue;
  *value = found->second;
  return kGood;
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  BEGIN_CALL();
  ++state().device[device].retained;
  if (state().device[device].id == 0) state().device[device].id = ++state().serial;
  *context = &state().device[device];
  return kGood;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  BEGIN_CALL();
  Device& released = state().device[device];
  if (released.retained == 0) return kInvalidContext;
  --released.retained;
  return kGood;
}

template <class Handles>
void lose(Handles& handles, const Device* gone) {
  for (auto each = handles.begin(); each != handles.end();) {
    const bool is_lost = (*each)->device == gone;
    if (is_lost) state().lost.insert(*each);
    each = is_lost ? handles.erase(each) : std::next(each);
  }
}

// Takes everything on the device, whoever has made it. Who has retained it has done so still. (CUDA
// Driver API, "Primary Context Management"; the numbers of contexts as seen with driver 580.)
EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
  BEGIN_CALL();
  Device* const gone = &state().device[device];
  finish_all();
  gone->own_stream = nullptr;
  for (auto each = state().allocations.begin(); each != state().allocations.end();) {
    const Allocation& allocation = (each++)->second;
    if (allocation.kind == Kind::kMapped) continue;  // it is no context's
    if ((allocation.opener != nullptr ? allocation.opener : allocation.device) == gone)
      release(reinterpret_cast<Address>(allocation.seen), {allocation.kind});
  }
  lose(state().streams, gone);
  lose(state().events, gone);
  lose(state().modules, gone);
  gone->id = 0;
  return kGood;
}

EXPORT int cuCtxGetId(const Device* context, std::uint64_t* id) {
  BEGIN_CALL();
  *id = context->id;
  return context->id != 0 ? kGood : kContextDestroyed;
}

// In place of the top of the thread's stack of contexts; none takes the top away. (CUDA Driver API,
// "Context Management".)
EXPORT int cuCtxSetCurrent(void* context) {
  BEGIN_CALL();
  if (context != nullptr)
    current = static_cast<Device*>(context);
  else
    pop_context();
  return kGood;
}

EXPORT int cuCtxPopCurrent_v2(void** context) {
  BEGIN_CONTEXT_CALL();
  *context = current;
  pop_context();
  return kGood;
}

EXPORT int cuCtxGetCurrent(void** context) {
  BEGIN_CALL();
  *context = current;
  return kGood;
}

EXPORT int cuCtxCreate_v2(void** context, unsigned flags, int device) {
  BEGIN_CALL();
  if (flags != 0 || device < 0 || device >= state().devices) return kInvalidValue;
  if (current != nullptr) below.push_back(current);
  current = new Device{device, 1, 0, ++state().serial};
  state().contexts.insert(current);
  *context = current;
  return kGood;
}

EXPORT int cuCtxDestroy_v2(Device* context) {
  BEGIN_CALL();
  if (state().contexts.erase(context) == 0) return kInvalidContext;
  if (current == context) pop_context();
  delete context;
  return kGood;
}

EXPORT int cuCtxGetDevice(int* device) {
  BEGIN_CONTEXT_CALL();
  *device = current->number;
  return kGood;
}

EXPORT int cuMemAlloc_v2(void** memory, std::size_t bytes) {
  BEGIN_UNSAFE_CALL();
  return allocate(Kind::kDevice, bytes, memory);
}

EXPORT int cuMemFree_v2(Address memory) {
  BEGIN_UNSAFE_CALL();
  return release(memory, {Kind::kDevice, Kind::kManaged});
}

EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  BEGIN_CONTEXT_CALL();
  *free = kMemory - current->used;
  *total = kMemory;
  return kGood;
}

EXPORT int cuMemAllocAsync(void** memory, std::size_t bytes, Stream*) {
  BEGIN_CONTEXT_CALL();
  return allocate(Kind::kAsync, bytes, memory);
}

EXPORT int cuMemFreeAsync(Address memory, Stream*) {
  BEGIN_CONTEXT_CALL();
  return release(memory, {Kind::kAsync, Kind::kManagedAsync});
}

// A pool is no more than a number: its memory is managed, as only those are made here.
EXPORT int cuMemPoolCreate(Address* pool, const int* properties) {
  BEGIN_CONTEXT_CALL();
  constexpr int kManagedType = 2;
  const int place = properties[2];
  if (properties[0] != kManagedType || state().driver < 13000) return kInvalidValue;
  if (place == 0) return kInvalidValue;  // the real one makes it, and its memory loses data
  *pool = ++state().serial;
  state().pools.insert(*pool);
  return kGood;
}

EXPORT int cuMemPoolDestroy(Address pool) {
  BEGIN_CONTEXT_CALL();
  return state().pools.erase(pool) == 1 ? kGood : kInvalidValue;
}

EXPORT int cuMemAllocFromPoolAsync(void** memory, std::size_t bytes, Address pool, Stream*) {
  BEGIN_CONTEXT_CALL();
  if (state().pools.count(pool) == 0) return kInvalidValue;
  return allocate(Kind::kManagedAsync, bytes, memory);
}

EXPORT int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  BEGIN_CONTEXT_CALL();
  *bytes = kGranularity;
  return kGood;
}

// As cuda.h has it.
struct AllocationProperties {
  int type;
  int handle_types;
  int location_type;
  int location;
  void* for_windows;
  unsigned char flags[8];
};
constexpr int kFiles = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

// A file tells by its name which device it is of.
EXPORT int cuMemCreate(Address* memory, std::size_t bytes, const AllocationProperties* properties,
                       unsigned long long) {
  BEGIN_CONTEXT_CALL();
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  if (bytes > kMemory - current->used) return kOutOfMemory;
  const Address made = ++state().serial;
  const std::string name = chunk_name(place_of(current->number), made);
  const int fd = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) return kOutOfMemory;
  current->used += bytes;
  state().created[made] = {current, bytes, fd, properties->handle_types == kFiles, false};
  *memory = made;
  return kGood;
}

// Ends what nobody has and nobody maps.
void let_go(std::map<Address, Created>::iterator created) {
  const Created& gone = created->second;
  if (gone.holders > 0 || gone.mappings > 0) return;
  close(gone.fd);
  if (!gone.taken) gone.device->used -= gone.bytes;
  state().created.erase(created);
}

EXPORT int cuMemRelease(Address memory) {
  BEGIN_CONTEXT_CALL();
  const auto created = state().created.find(memory);
  if (created == state().created.end() || created->second.holders == 0) return kInvalidValue;
  --created->second.holders;
  let_go(created);
  return kGood;
}

EXPORT int cuMemRetainAllocationHandle(Address* memory, Address address) {
  BEGIN_CALL();
  const Allocation* const found = find(address);
  if (found == nullptr || found->kind != Kind::kMapped) return kInvalidValue;
  *memory = found->created;
  ++state().created.at(found->created).holders;
  return kGood;
}

EXPORT int cuMemExportToShareableHandle(int* file, Address memory, int type, unsigned long long) {
  BEGIN_CONTEXT_CALL();
  const auto created = state().created.find(memory);
  if (created == state().created.end() || type != kFiles || !created->second.for_files)
    return kInvalidValue;
  *file = dup(created->second.fd);
  return *file < 0 ? kOutOfMemory : kGood;
}

EXPORT int cuMemImportFromShareableHandle(Address* memory, Address file, int type) {
  BEGIN_CONTEXT_CALL();
  const auto fd = static_cast<int>(file);
  char link[256] = "";
  int place = 0;
  struct stat status{};
  if (type != kFiles || fstat(fd, &status) != 0 ||
      readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), link, sizeof(link) - 1) < 0 ||
      std::sscanf(link, kChunkLink, &place) != 1)
    return kInvalidValue;
  Device* const owner = device_at(place);
  if (owner == &state().unseen && state().withheld) return kInvalidDevice;
  *memory = ++state().serial;
  state().created[*memory] = {owner, static_cast<std::size_t>(status.st_size), dup(fd), false,
                              true};
  return kGood;
}

EXPORT int cuMemAddressReserve(void** begin, std::size_t bytes, std::size_t, Address,
                               unsigned long long) {
  BEGIN_CONTEXT_CALL();
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  auto* const storage = static_cast<char*>(map(bytes, PROT_NONE, -1));
  auto* const seen = state().reachable ? storage : static_cast<char*>(map(bytes, PROT_NONE, -1));
  if (storage == nullptr || seen == nullptr) return kOutOfMemory;
  state().reserved[seen] = {seen, storage, bytes};
  *begin = seen;
  return kGood;
}

bool is_mapped(const char* begin, std::size_t bytes) {
  const auto& all = state().allocations;
  const auto next = all.lower_bound(const_cast<char*>(begin) + bytes);
  return next != all.begin() &&
         std::prev(next)->second.seen + std::prev(next)->second.mapped > begin;
}

EXPORT int cuMemAddressFree(Address begin, std::size_t bytes) {
  BEGIN_CONTEXT_CALL();
  const auto found = state().reserved.find(reinterpret_cast<char*>(begin));
  if (found == state().reserved.end() || found->second.bytes != bytes ||
      is_mapped(found->first, bytes))
    return kInvalidValue;
  munmap(found->second.storage, bytes);
  if (found->second.seen != found->second.storage) munmap(found->second.seen, bytes);
  state().reserved.erase(found);
  return kGood;
}

// Each mapping has a number of its own. (As seen with driver 580.)
EXPORT int cuMemMap(Address begin, std::size_t bytes, std::size_t offset, Address memory,
                    unsigned long long) {
  BEGIN_CONTEXT_CALL();
  const Reserved* const reserved = find_reserved(begin);
  const auto created = state().created.find(memory);
  auto* const seen = reinterpret_cast<char*>(begin);
  if (reserved == nullptr || offset != 0 || begin % kPage != 0 ||
      created == state().created.end() || created->second.bytes != bytes ||
      seen + bytes > reserved->seen + reserved->bytes || is_mapped(seen, bytes))
    return kInvalidValue;
  char* const at = reserved->storage + (seen - reserved->seen);
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, created->second.fd, 0) ==
      MAP_FAILED)
    return kOutOfMemory;
  ++created->second.mappings;
  Allocation made{Kind::kMapped, created->second.device, bytes, bytes, seen, at};
  made.serial = ++state().serial;
  made.created = memory;
  state().allocations[seen] = made;
  return kGood;
}

// Whether mappings fill this range; `what(mapping)` of each.
template <typename What>
bool each_mapping(Address begin, std::size_t bytes, const What& what) {
  auto* const end = reinterpret_cast<char*>(begin) + bytes;
  for (auto* at = reinterpret_cast<char*>(begin); at < end;) {
    const auto found = state().allocations.find(at);
    if (found == state().allocations.end() || found->second.kind != Kind::kMapped ||
        at + found->second.bytes > end)
      return false;
    at += found->second.bytes;
    what(found->second);
  }
  return true;
}

EXPORT int cuMemUnmap(Address begin, std::size_t bytes) {
  BEGIN_CONTEXT_CALL();
  std::vector<Allocation> gone;
  if (!each_mapping(begin, bytes, [&](const Allocation& each) { gone.push_back(each); }))
    return kInvalidValue;
  for (Stream* stream : state().streams) stream->finish();
  for (const Allocation& each : gone) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(each.storage, each.bytes, PROT_NONE, kFlags, -1, 0) == MAP_FAILED) std::abort();
    const auto created = state().created.find(each.created);
    --created->second.mappings;
    let_go(created);
    state().allocations.erase(each.seen);
  }
  return kGood;
}

// CUmemAccessDesc.
struct AccessDescription {
  int type;
  int device;
  int flags;
};

EXPORT int cuMemSetAccess(Address begin, std::size_t bytes, const AccessDescription* access,
                          std::size_t count) {
  BEGIN_CONTEXT_CALL();
  constexpr int kDevice = 1, kReadWrite = 3;
  if (count != 1 || access->type != kDevice || access->flags != kReadWrite || access->device < 0 ||
      access->device >= state().devices)
    return kInvalidValue;
  Device* const user = &state().device[access->device];
  bool reached = true;
  const bool all = each_mapping(begin, bytes, [&](const Allocation& each) {
    reached = reached && can_reach(user, each.device);
  });
  if (!all || !reached) return all ? kPeerUnsupported : kInvalidValue;
  each_mapping(begin, bytes, [&](Allocation& each) { each.opener = user; });
  return kGood;
}

EXPORT int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  BEGIN_UNSAFE_CALL();
  return allocate(Kind::kPinned, bytes, memory);
}

EXPORT int cuMemFreeHost(void* memory) {
  BEGIN_UNSAFE_CALL();
  return release(reinterpret_cast<Address>(memory), {Kind::kPinned});
}

EXPORT int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  BEGIN_UNSAFE_CALL();
  auto* const begin = static_cast<char*>(memory);
  const std::size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  if (bytes == 0 || flags != 3 || reinterpret_cast<Address>(memory) % kPage != 0)
    return kInvalidValue;
  for (const auto& [seen, other] : state().allocations)
    if (begin < seen + other.mapped && seen < begin + mapped) return kHostMemoryRegistered;
  state().allocations[begin] = {Kind::kRegistered, current, bytes, mapped, begin, begin};
  return kGood;
}

EXPORT int cuMemHostUnregister(void* memory) {
  BEGIN_UNSAFE_CALL();
  return release(reinterpret_cast<Address>(memory), {Kind::kRegistered});
}

EXPORT int cuMemHostGetDevicePointer_v2(Address* on_device, void* memory, unsigned flags) {
  BEGIN_CONTEXT_CALL();
  const Allocation* found = find(reinterpret_cast<Address>(memory));
  if (flags != 0 || found == nullptr ||
      (found->kind != Kind::kRegistered && found->kind != Kind::kPinned))
    return kInvalidValue;
  *on_device = reinterpret_cast<Address>(memory);
  return kGood;
}

EXPORT int cuMemAllocManaged(void** memory, std::size_t bytes, unsigned flags) {
  BEGIN_UNSAFE_CALL();
  if (flags != 1) return kInvalidValue;
  return allocate(Kind::kManaged, bytes, memory);
}

EXPORT int cuMemGetAddressRange_v2(Address* base, std::size_t* bytes, Address address) {
  BEGIN_CONTEXT_CALL();
  const Allocation* found = find(address);
  if (found == nullptr) return kNotFound;
  *base = reinterpret_cast<Address>(found->seen);
  *bytes = found->bytes;
  return kGood;
}

// CUpointer_attribute by number, as wide as the manual says.
int tell(void* answer, int attribute, const Allocation* found) {
  const bool host = found->kind == Kind::kPinned || found->kind == Kind::kRegistered;
  const Reserved* const reserved = found->kind == Kind::kMapped
                                       ? find_reserved(reinterpret_cast<Address>(found->seen))
                                       : nullptr;
  switch (attribute) {
    case 1:  // context
      *static_cast<Device**>(answer) = found->kind == Kind::kMapped || found->kind == Kind::kAsync
                                           ? nullptr
                                       : found->opener == nullptr ? found->device
                                                                  : found->opener;
      return kGood;
    case 2:  // memory type
      *static_cast<unsigned*>(answer) = host ? 1 : 2;
      return kGood;
    case 7:  // buffer id
      *static_cast<std::uint64_t*>(answer) = found->serial;
      return kGood;
    case 8:  // is managed
      *static_cast<unsigned*>(answer) =
          found->kind == Kind::kManaged || found->kind == Kind::kManagedAsync ? 1 : 0;
      return kGood;
    case 9:  // device ordinal
      *static_cast<int*>(answer) = found->device == nullptr ? -2 : found->device->number;
      return kGood;
    case 10:  // can be given to other processes
      *static_cast<unsigned*>(answer) = found->kind == Kind::kDevice ? 1 : 0;
      return kGood;
    case 11:  // where its range begins, which is all that was reserved
      *static_cast<Address*>(answer) =
          reinterpret_cast<Address>(reserved != nullptr ? reserved->seen : found->seen);
      return kGood;
    case 12:
      *static_cast<std::size_t*>(answer) = reserved != nullptr ? reserved->bytes : found->bytes;
      return kGood;
    case 14:  // as what it can be given to other processes
      *static_cast<unsigned long long*>(answer) =
          reserved != nullptr && state().created.at(found->created).for_files ? 1 : 0;
      return kGood;
    case 18:  // of its mapping
      *static_cast<std::size_t*>(answer) = found->bytes;
      return kGood;
    case 19:
      *static_cast<Address*>(answer) = reinterpret_cast<Address>(found->seen);
      return kGood;
    default:
      return kInvalidValue;
  }
}

int questions = 0;

EXPORT int cuPointerGetAttribute(void* answer, int attribute, Address address) {
  BEGIN_CALL();
  ++questions;
  const Allocation* found = find(address);
  return found == nullptr ? kInvalidValue : tell(answer, attribute, found);
}

// Of an address that it does not know all answers are zero.
EXPORT int cuPointerGetAttributes(unsigned count, const int* attributes, void** answers,
                                  Address address) {
  BEGIN_CALL();
  ++questions;
  static Allocation none{};
  const Allocation* found = find(address);
  for (unsigned i = 0; i < count; ++i) {
    const int result = tell(answers[i], attributes[i], found != nullptr ? found : &none);
    if (result != kGood) return result;
    if (found == nullptr && attributes[i] == 2) *static_cast<unsigned*>(answers[i]) = 0;
  }
  return kGood;
}

// How often it was asked about an address.
EXPORT int fake_cuda_questions() { return questions; }

EXPORT int cuDeviceCanAccessPeer(int* reached, int from, int to) {
  BEGIN_CALL();
  if (from == to || from < 0 || to < 0 || from >= state().devices || to >= state().devices)
    return kInvalidDevice;
  *reached = can_reach(&state().device[from], &state().device[to]) ? 1 : 0;
  return kGood;
}

EXPORT int cuMemcpyAsync(Address to, Address from, std::size_t bytes, Stream* stream) {
  BEGIN_CONTEXT_CALL();
  const struct {
    Address to, from;
    std::size_t bytes;
    Stream* stream;
  } parameters{to, from, bytes, stream};
  this_call.parameters = &parameters;
  if (is_default(stream))
    stream = default_stream();
  else if (!is_there(stream))
    return kInvalidHandle;
  char* const target = storage(to, bytes);
  const char* const source = storage(from, bytes);
  if (bytes == 0) return kGood;
  if (target == nullptr || source == nullptr) return kInvalidValue;
  const Allocation* into = find(to);
  const bool wrong = state().corrupt && into != nullptr && of_device(into->kind);
  const bool flipped = state().flipped_byte < bytes && is_of(find(from), state().flipped_from) &&
                       is_of(into, state().flipped_to);
  const std::size_t flipped_byte = state().flipped_byte;
  const int from_kind = kind_told(from), to_kind = kind_told(to);
  const int slow_ms = bytes > (64 << 10) ? state().slow_ms : 0;
  stream->give({[=] {
    const std::uint64_t begin_ns = now_ns();
    if (slow_ms > 0) usleep(static_cast<useconds_t>(slow_ms) * 1000);
    std::memmove(target, source, bytes);
    if (told.copied != nullptr)
      told.copied(from_kind == 3 ? 2 : 1, from_kind, to_kind, bytes, begin_ns, now_ns());
    if (wrong) target[bytes - 1] = static_cast<char>(~target[bytes - 1]);
    if (flipped) target[flipped_byte] = static_cast<char>(target[flipped_byte] ^ 1);
  }});
  return kGood;
}

EXPORT int cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  BEGIN_CONTEXT_CALL();
  if (!is_there(stream)) return kInvalidHandle;
  stream->give({[=] { function(data); }});
  return kGood;
}

EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  BEGIN_CONTEXT_CALL();
  *least = kLeastPriority;
  *greatest = kGreatestPriority;
  return kGood;
}

EXPORT int cuStreamCreateWithPriority(Stream** stream, unsigned, int priority) {
  BEGIN_UNSAFE_CALL();
  if (priority > kLeastPriority || priority < kGreatestPriority) return kInvalidValue;
  *stream = new Stream{current, priority, {}};
  state().streams.insert(*stream);
  return kGood;
}

constexpr int kThreadLocal = 1;

EXPORT int cuStreamBeginCapture_v2(Stream* stream, int mode) {
  BEGIN_CONTEXT_CALL();
  if (!is_there(stream)) return kInvalidHandle;
  if ((mode != kGlobal && mode != kThreadLocal) || state().captured != nullptr)
    return kInvalidValue;
  state().captured = stream;
  state().recorded = std::make_unique<Graph>();
  state().broken = false;
  return kGood;
}

// It ends the capture even where it fails.
EXPORT int cuStreamEndCapture(Stream* stream, Graph** graph) {
  const std::lock_guard<std::recursive_mutex> alone{calling};
  std::unique_ptr<Graph> recorded;
  if (state().captured == stream) {
    state().captured = nullptr;
    recorded = std::move(state().recorded);
  }
  BEGIN_CONTEXT_CALL();
  if (recorded == nullptr) return kInvalidValue;
  *graph = nullptr;
  if (state().broken) return kCaptureInvalidated;
  *graph = new Graph(*recorded);
  state().graphs.insert(*graph);
  return kGood;
}

EXPORT int cuGraphInstantiateWithFlags(Graph** ready, Graph* graph, unsigned long long flags) {
  BEGIN_UNSAFE_CALL();
  if (flags != 0 || state().graphs.count(graph) == 0) return kInvalidValue;
  *ready = new Graph(*graph);
  state().graphs.insert(*ready);
  return kGood;
}

int destroy(Graph* graph) {
  if (state().graphs.erase(graph) == 0) return kInvalidValue;
  delete graph;
  return kGood;
}

EXPORT int cuGraphDestroy(Graph* graph) {
  BEGIN_UNSAFE_CALL();
  return destroy(graph);
}

// What is being done goes on.
EXPORT int cuGraphExecDestroy(Graph* graph) {
  BEGIN_UNSAFE_CALL();
  return destroy(graph);
}

EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  BEGIN_CALL();
  std::swap(*mode, capture_mode);
  return kGood;
}

EXPORT int cuStreamGetPriority(Stream* stream, int* priority) {
  BEGIN_CONTEXT_CALL();
  if (!is_there(stream)) return kInvalidHandle;
  *priority = stream->priority;
  return kGood;
}

EXPORT int cuStreamDestroy_v2(Stream* stream) {
  BEGIN_UNSAFE_CALL();
  if (!is_there(stream)) return kInvalidHandle;
  state().streams.erase(stream);
  stream->finish();
  delete stream;
  return kGood;
}

// The error of a wait is that of the work: none of it is left when it is told.
EXPORT int cuStreamSynchronize(Stream* stream) {
  if (is_default(stream)) {
    BEGIN_CONTEXT_CALL();
    default_stream()->finish();
    return kGood;
  }
  bool there = false;
  {
    const std::lock_guard<std::recursive_mutex> alone{calling};
    there = is_there(stream);
  }
  if (there) stream->finish();  // while other threads may call
  BEGIN_UNSAFE_CALL();
  return is_there(stream) ? kGood : kInvalidHandle;
}

// A step is made at each question, so that polling comes to an end.
EXPORT int cuStreamQuery(Stream* stream) {
  BEGIN_UNSAFE_CALL();
  if (is_default(stream))
    stream = default_stream();
  else if (!is_there(stream))
    return kInvalidHandle;
  return stream->poll() ? kNotReady : kGood;
}

EXPORT int cuEventCreate(Event** event, unsigned) {
  BEGIN_UNSAFE_CALL();
  *event = new Event{current};
  state().events.insert(*event);
  return kGood;
}

EXPORT int cuEventDestroy_v2(Event* event) {
  BEGIN_UNSAFE_CALL();
  if (!is_there(event)) return kInvalidHandle;
  state().events.erase(event);
  delete event;
  return kGood;
}

EXPORT int cuEventRecord(Event* event, Stream* stream) {
  BEGIN_CONTEXT_CALL();
  if (!is_there(stream) || !is_there(event)) return kInvalidHandle;
  const auto point = std::make_shared<Point>(Point{stream});
  event->last = point;
  stream->give({[point] {
    point->reached = true;
    Stream::be_eager();
  }});
  return kGood;
}

// The stream goes on when the other has reached the point where the event is now.
EXPORT int cuStreamWaitEvent(Stream* stream, Event* event, unsigned flags) {
  BEGIN_CONTEXT_CALL();
  if (!is_there(stream) || !is_there(event)) return kInvalidHandle;
  if (flags != 0) return kInvalidValue;
  const auto point = event->last;
  if (!point || state().heedless) return kGood;
  stream->give({[point] {
                  while (!point->reached && point->stream->step()) {
                  }
                },
                nullptr, point});
  return kGood;
}

// A step of the event's stream is made at each question, so that polling comes to an end.
EXPORT int cuEventQuery(Event* event) {
  BEGIN_UNSAFE_CALL();
  if (!is_there(event)) return kInvalidHandle;
  if (!event->last || event->last->reached) return kGood;
  event->last->stream->poll();
  return kNotReady;
}

EXPORT int cuIpcGetMemHandle(Handle64* out, Address memory) {
  BEGIN_UNSAFE_CALL();
  const Allocation* found = find(memory);
  if (found == nullptr || found->kind != Kind::kDevice) return kInvalidValue;
  const Handle handle{kMagic,        getpid(),     found->fd,    place_of(found->device->number),
                      found->serial, found->bytes, found->block, process_namespace()};
  std::memset(out->bytes, 0, sizeof(out->bytes));
  std::memcpy(out->bytes, &handle, sizeof(handle));
  return kGood;
}

EXPORT int cuIpcOpenMemHandle_v2(void** memory, Handle64 in, unsigned flags) {
  BEGIN_UNSAFE_CALL();
  Handle handle{};
  std::memcpy(&handle, in.bytes, sizeof(handle));
  if (handle.magic != kMagic || flags != 1) return kInvalidValue;
  if (handle.processes != process_namespace())
    return kInvalidHandle;                             // as UCX says of the real one
  if (handle.pid == getpid()) return kInvalidContext;  // it has the memory already
  Device* const owner = device_at(handle.device);
  if (owner == &state().unseen && state().withheld) return kInvalidDevice;
  if (!can_reach(current, owner)) return kPeerUnsupported;
  if (handle.block != 0)
    for (const auto& [_, other] : state().allocations)
      if (other.owner == handle.pid && other.block == handle.block && other.opener == current)
        return kAlreadyMapped;
  const std::string path =
      "/proc/" + std::to_string(handle.pid) + "/fd/" + std::to_string(handle.fd);
  char link[256] = "";
  const std::string name = "/memfd:" + file_name(handle.serial) + " ";
  if (readlink(path.c_str(), link, sizeof(link) - 1) < 0 ||
      std::strncmp(link, name.c_str(), name.size()) != 0)
    return kInvalidHandle;  // freed meanwhile
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return kMapFailed;
  Allocation opened{Kind::kOpened, owner,  handle.bytes, (handle.bytes + kPage - 1) / kPage * kPage,
                    nullptr,       nullptr};
  opened.owner = handle.pid;
  opened.block = handle.block;
  opened.opener = current;
  opened.storage = static_cast<char*>(map(opened.mapped, PROT_READ | PROT_WRITE, fd));
  opened.seen =
      state().reachable ? opened.storage : static_cast<char*>(map(opened.mapped, PROT_NONE, -1));
  close(fd);
  if (opened.storage == nullptr || opened.seen == nullptr) std::abort();
  state().allocations[opened.seen] = opened;
  *memory = opened.seen;
  return kGood;
}

EXPORT int cuIpcCloseMemHandle(Address memory) {
  BEGIN_UNSAFE_CALL();
  return release(memory, {Kind::kOpened});
}

EXPORT int cuModuleLoadData(Module** module, const char* code) {
  BEGIN_UNSAFE_CALL();
  std::size_t bytes = 0;
  const char* const variable = std::strstr(code, "nearpeak_symbol[");
  if (variable != nullptr && std::sscanf(variable, "nearpeak_symbol[%zu];", &bytes) == 1) {
    auto made = std::make_unique<Module>(Module{current, nullptr, nullptr, bytes, {}});
    const int result = allocate(Kind::kSymbol, bytes, &made->variable);
    if (result != kGood) return result;
    *module = made.release();
    state().modules.insert(*module);
    return kGood;
  }
  if (std::strncmp(code, kCodeBegin, std::strlen(kCodeBegin)) != 0) return kInvalidImage;
  void* const library = dlopen(code + std::strlen(kCodeBegin), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kInvalidImage;
  *module = new Module{current, library, nullptr, 0, {}};
  state().modules.insert(*module);
  return kGood;
}

EXPORT int cuModuleUnload(Module* module) {
  BEGIN_UNSAFE_CALL();
  if (state().modules.erase(module) == 0) return kInvalidHandle;
  for (Stream* stream : state().streams) stream->finish();
  if (module->library != nullptr)
    dlclose(module->library);
  else
    release(reinterpret_cast<Address>(module->variable), {Kind::kSymbol});
  delete module;
  return kGood;
}

EXPORT int cuModuleGetGlobal_v2(void** memory, std::size_t* bytes, Module* module, const char*) {
  BEGIN_CONTEXT_CALL();
  if (state().modules.count(module) == 0) return kInvalidHandle;
  if (module->variable == nullptr) return kNotFound;
  *memory = module->variable;
  *bytes = module->bytes;
  return kGood;
}

EXPORT int cuModuleGetFunction(const Kernel** kernel, Module* module, const char* name) {
  BEGIN_CONTEXT_CALL();
  if (state().modules.count(module) == 0 || module->library == nullptr) return kInvalidHandle;
  void* const symbol = dlsym(module->library, (std::string("kernel_") + name).c_str());
  if (symbol == nullptr) return kNotFound;
  *kernel = static_cast<const Kernel*>(symbol);
  module->kernels.insert(*kernel);
  return kGood;
}

// Behind what the stream has been given, in a thread of its own.
void run_beside(Stream* stream, std::function<void()> work) {
  if (stream->recording() != nullptr) return stream->give({std::move(work)});
  stream->finish();
  const auto running = std::make_shared<Running>();
  running->thread = std::thread([running, work = std::move(work)] {
    leave_cpu();
    work();
    running->done = true;
  });
  stream->give({[running] { running->thread.join(); }, running});
}

EXPORT int cuGraphLaunch(Graph* graph, Stream* stream) {
  BEGIN_CONTEXT_CALL();
  if (state().graphs.count(graph) == 0) return kInvalidValue;
  if (!is_there(stream)) return kInvalidHandle;
  run_beside(stream, [actions = graph->actions] {
    for (const auto& action : actions) action();
  });
  return kGood;
}

// For a library that stands for one with kernels of its own (fake_nccl.cpp): its data is released
// when nobody will call the function any more.
EXPORT int fake_cuda_launch(Stream* stream, void (*function)(void*), void (*release)(void*),
                            void* data) {
  const std::shared_ptr<void> kept(data, release);
  BEGIN_CONTEXT_CALL();
  if (!is_there(stream)) return kInvalidHandle;
  run_beside(stream, [=] { function(kept.get()); });
  return kGood;
}

EXPORT int cuLaunchKernel(const Kernel* kernel, unsigned blocks, unsigned blocks_y,
                          unsigned blocks_z, unsigned threads, unsigned threads_y,
                          unsigned threads_z, unsigned, Stream* stream, void** arguments,
                          void** extra) {
  BEGIN_CONTEXT_CALL();
  bool known = false;
  for (const Module* module : state().modules)
    known = known || (module->device == current && module->kernels.count(kernel) != 0);
  if (!known || !is_there(stream) || stream->device != current) return kInvalidHandle;
  if (blocks == 0 || threads == 0 || blocks_y != 1 || blocks_z != 1 || threads_y != 1 ||
      threads_z != 1 || extra != nullptr)
    return kInvalidValue;
  if (threads > kernel->threads) return kOutOfResources;  // registers, if it needs many
  std::vector<Address> values;
  for (unsigned i = 0; i < kernel->arguments; ++i) {
    const auto* const words = static_cast<const Address*>(arguments[i]);
    values.insert(values.end(), words, words + kernel->words[i]);
    if (kernel->pointers[i] && !on_cpu(values.back())) return kIllegalAddress;
  }
  if (!kernel->waits) {
    stream->give({[=] { kernel->run(blocks, threads, values.data()); }});
    return kGood;
  }
  run_beside(stream, [=] { kernel->run(blocks, threads, values.data()); });
  return kGood;
}
