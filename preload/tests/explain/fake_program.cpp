// SPDX-License-Identifier: Apache-2.0
// A program that is looked at, with `explain/` preloaded (tests/explain/test_library.py). It marks
// two samples, of which the first is looked at, and in each does what its first argument says.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../../bench/marks/marks.hpp"

namespace {

constexpr int kMs = 10;  // of a call that waits

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

template <class Function>
Function* find(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
  if (found == nullptr) std::abort();
  return found;
}

// Tells a call that did not last, or failed.
template <class Call>
void waits(const char* name, Call call) {
  const std::int64_t begin_ns = now_ns();
  errno = 0;
  const auto result = static_cast<long>(call());
  if (result != 0 || now_ns() - begin_ns < kMs * 1'000'000)
    std::printf("%s returned %ld, %s\n", name, result, std::strerror(errno));
}

void wait() {
  const timespec time{0, kMs * 1'000'000};
  timeval limit{0, kMs * 1000};
  sigset_t none;
  sigemptyset(&none);
  epoll_event event{};
  const int queue = epoll_create1(0);
  waits("poll", [] { return poll(nullptr, 0, kMs); });
  waits("ppoll", [&] { return ppoll(nullptr, 0, &time, &none); });
  waits("select", [&] { return select(0, nullptr, nullptr, nullptr, &limit); });
  waits("pselect", [&] { return pselect(0, nullptr, nullptr, nullptr, &time, &none); });
  waits("epoll_wait", [&] { return epoll_wait(queue, &event, 1, kMs); });
  waits("epoll_pwait", [&] { return epoll_pwait(queue, &event, 1, kMs, &none); });
  waits("nanosleep", [&] { return nanosleep(&time, nullptr); });
  waits("clock_nanosleep", [&] { return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr); });
  waits("usleep", [] { return usleep(kMs * 1000); });
  waits("sleep", [] { return sleep(1); });
  close(queue);
}

// Its own instructions, for so long.
void work_us(std::int64_t us) {
  for (const std::int64_t end_ns = now_ns() + us * 1000; now_ns() < end_ns;) {
  }
}
void work(int ms) { work_us(ms * 1000LL); }

void fork_one() {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i) close(open("/dev/null", O_RDONLY));
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
}

void yield(int times) {
  for (int i = 0; i < times; ++i) sched_yield();
}

// A driver's call that moves bytes, as CUPTI tells it.
struct Driver {
  void* cupti = dlopen(std::getenv("NEARPEAK_CUPTI_LIBRARY"), RTLD_NOW);
  void (*call)(std::uint32_t, const char*, const void*) =
      find<void(std::uint32_t, const char*, const void*)>(cupti, "fake_cupti_call");
  void (*copied)(int, int, int, std::uint64_t, std::uint64_t, std::uint64_t) =
      find<void(int, int, int, std::uint64_t, std::uint64_t, std::uint64_t)>(cupti,
                                                                             "fake_cupti_copied");
  Driver() { find<int()>(RTLD_DEFAULT, "InitializeInjection")(); }

  // The fourth word, which is the size, after an offset or an address.
  void calls(const char* name) const {
    const std::uint64_t parameters[] = {1, 2, 3, 4096, 5};
    call(0, name, nullptr);
    call(1, name, parameters);
  }
  void moves_one(std::uint64_t bytes) const {
    const auto begin_ns = static_cast<std::uint64_t>(now_ns());
    calls("cuMemcpyDtoA_v2");
    copied(1, 3, 1, bytes, begin_ns, static_cast<std::uint64_t>(now_ns()));
  }
  // So many messages, each with a call and so many copies on the device.
  void moves(int messages, int copies) const {
    for (int i = 0; i < messages; ++i) {
      work_us(10);  // further from the marks than two clocks are apart
      const std::int64_t begin_ns = now_ns();
      calls("cuMemcpyDtoA_v2");
      for (int copy = 0; copy < copies; ++copy)
        copied(1, 3, 1, 4096, static_cast<std::uint64_t>(begin_ns),
               static_cast<std::uint64_t>(now_ns()));
      work_us(10);
      nearpeak::mark(nearpeak::Mark::kEnds, 1);
      nearpeak::mark(nearpeak::Mark::kBegins);
    }
  }
};

// Copies of the kind that is looked at, without a look at the clock.
void copy(int times) {
  std::vector<char> from(1024), to(1024);
  for (int i = 0; i < times; ++i) std::memcpy(to.data(), from.data(), to.size());
}

bool comes_twice = false;

// A thread that copies all the time.
struct Beside {
  std::atomic<bool> over{false};
  std::atomic<long> copies{0};
  std::thread thread{[this] {
    std::vector<char> from(4096), to(4096);
    for (; !over; ++copies) std::memcpy(to.data(), from.data(), to.size());
  }};
  // Until it has copied, however long it is without a CPU.
  void works() const {
    for (const long before = copies; copies < before + 2;) {
    }
  }
  ~Beside() {
    over = true;
    thread.join();
  }
};

}  // namespace

// Also of the library that looks. Once, two signals of samples come within it, as to a thread that
// is long without a CPU.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const read = find<int(clockid_t, timespec*)>(RTLD_NEXT, "clock_gettime");
  if (std::exchange(comes_twice, false))
    for (int i = 0; i < 2; ++i) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGPROF);
  return read(clock, time);
}

int main(int argc, char** argv) {
  const std::string what = argv[1];
  const int times = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool drives = what == "moves" || what == "calls" || what == "own" || what == "leaves";
  const Driver* const driver = drives ? new Driver : nullptr;
  const Beside* const beside = what == "beside" ? new Beside : nullptr;
  if (what == "warms") {
    nearpeak::mark(nearpeak::Mark::kPrepares);
    yield(times);
  }
  for (int sample = 0; sample < 2; ++sample) {
    nearpeak::mark(nearpeak::Mark::kBegins);
    if (what == "waits" && sample == 0) wait();
    if (what == "forks") fork_one();
    if (what == "works" || what == "beside") work(times);
    if (beside != nullptr) beside->works();
    if (what == "yields") yield(times);
    if (what == "futex") syscall(SYS_futex, &sample, 129, 1, nullptr, nullptr, 0);
    if (what == "moves") driver->moves(times, argc > 3 ? std::atoi(argv[3]) : 1);
    if (what == "calls")
      for (int i = 2; i < argc; ++i) driver->calls(argv[i]);
    comes_twice = what == "copies" && sample == 0;
    if (what == "copies") copy(times);
    if (what == "own" || what == "leaves") {
      driver->moves_one(4096);
      const nearpeak::OwnWork own;
      driver->moves_one(64);
      sched_yield();
    }
    if (what == "leaves") _exit(0);
    if (what != "copies") work(6);  // as long as samples are looked at, or not, together
    nearpeak::mark(nearpeak::Mark::kEnds, 1);
  }
  delete beside;
  return 0;
}
