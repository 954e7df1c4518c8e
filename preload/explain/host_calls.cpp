// SPDX-License-Identifier: Apache-2.0
// Calls of libc by which libraries move data, wait, and map memory: each is put in the place of
// libc's own, does the same, and is kept as an event.
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "explain/events.hpp"
#include "explain/sampling.hpp"

namespace nearpeak::explain {
namespace {

// Of copies within a process: what smaller ones take is less than to look at the clock.
constexpr std::size_t kSmallestCopy = 1024;

// Calls within calls are part of the outermost, and this library's own are nobody's.
[[gnu::tls_model("initial-exec")]] thread_local bool inside = false;

template <class Function>
Function* libc(Function*& found, const char* name) {
  // Not a static variable of a function, whose guard may itself copy.
  if (found == nullptr) found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return found;
}

// A name is given again by each thread that comes first: it is the same one.
struct Name {
  std::uint16_t number;
  const char* text;
  std::atomic<bool> given{false};
};

template <class Call, class Bytes>
auto seen(Name& named, Call call, Bytes bytes) {
  inside = true;
  const std::uint64_t begin_ns = now_ns();
  const auto result = call();
  const std::uint64_t end_ns = now_ns();
  if (!named.given.load(std::memory_order_relaxed)) {
    name(named.number, named.text);
    named.given = true;
  }
  add(Kind::kHostCall, named.number, begin_ns, end_ns, bytes(result));
  inside = false;
  return result;
}

}  // namespace
}  // namespace nearpeak::explain

// The name of libc without its declaration, which may say more (noexcept, nonnull) than is true
// of what stands in its place. `around`: what is done before such a call, and undone behind it.
#define REPLACED_WITHIN(around, result, text, parameters, arguments, condition, bytes)         \
  extern "C"                                                                                   \
      __attribute__((visibility("default"))) result nearpeak_##text parameters __asm__(#text); \
  extern "C" result nearpeak_##text parameters {                                               \
    using namespace nearpeak::explain;                                                         \
    static result(*found) parameters = nullptr;                                                \
    auto* const real = libc(found, #text);                                                     \
    if (inside || !recording() || !(condition)) return real arguments;                         \
    static constinit Name named{__COUNTER__ + 1, #text};                                       \
    around;                                                                                    \
    return seen(                                                                               \
        named, [&] { return real arguments; },                                                 \
        [&]([[maybe_unused]] auto returned) -> std::uint64_t { return (bytes); });             \
  }
#define REPLACED(...) REPLACED_WITHIN(static_cast<void>(0), __VA_ARGS__)
// A call that a signal ends.
#define WAITS(result, text, parameters, arguments) \
  REPLACED_WITHIN(const Undisturbed undisturbed, result, text, parameters, arguments, true, 0)
// What a call moved: what it returned, unless that says that it failed.
#define MOVED returned > 0 ? static_cast<std::uint64_t>(returned) : 0

REPLACED(void*, memcpy, (void* to, const void* from, std::size_t n), (to, from, n),
         n >= kSmallestCopy, n)
REPLACED(void*, memmove, (void* to, const void* from, std::size_t n), (to, from, n),
         n >= kSmallestCopy, n)
REPLACED(void*, __memcpy_chk, (void* to, const void* from, std::size_t n, std::size_t room),
         (to, from, n, room), n >= kSmallestCopy, n)
REPLACED(void*, __memmove_chk, (void* to, const void* from, std::size_t n, std::size_t room),
         (to, from, n, room), n >= kSmallestCopy, n)

REPLACED(ssize_t, process_vm_readv,
         (int process, const iovec* own, unsigned long n, const iovec* other, unsigned long m,
          unsigned long flags),
         (process, own, n, other, m, flags), true, MOVED)
REPLACED(ssize_t, process_vm_writev,
         (int process, const iovec* own, unsigned long n, const iovec* other, unsigned long m,
          unsigned long flags),
         (process, own, n, other, m, flags), true, MOVED)

REPLACED(ssize_t, read, (int file, void* data, std::size_t n), (file, data, n), true, MOVED)
REPLACED(ssize_t, write, (int file, const void* data, std::size_t n), (file, data, n), true, MOVED)
REPLACED(ssize_t, readv, (int file, const iovec* parts, int n), (file, parts, n), true, MOVED)
REPLACED(ssize_t, writev, (int file, const iovec* parts, int n), (file, parts, n), true, MOVED)
REPLACED(ssize_t, __read_chk, (int file, void* data, std::size_t n, std::size_t room),
         (file, data, n, room), true, MOVED)
REPLACED(ssize_t, pread, (int file, void* data, std::size_t n, long from), (file, data, n, from),
         true, MOVED)
REPLACED(ssize_t, pread64, (int file, void* data, std::size_t n, long from), (file, data, n, from),
         true, MOVED)
REPLACED(ssize_t, pwrite, (int file, const void* data, std::size_t n, long from),
         (file, data, n, from), true, MOVED)
REPLACED(ssize_t, pwrite64, (int file, const void* data, std::size_t n, long from),
         (file, data, n, from), true, MOVED)
REPLACED(ssize_t, preadv, (int file, const iovec* parts, int n, long from), (file, parts, n, from),
         true, MOVED)
REPLACED(ssize_t, preadv64, (int file, const iovec* parts, int n, long from),
         (file, parts, n, from), true, MOVED)
REPLACED(ssize_t, recv, (int file, void* data, std::size_t n, int flags), (file, data, n, flags),
         true, MOVED)
REPLACED(ssize_t, send, (int file, const void* data, std::size_t n, int flags),
         (file, data, n, flags), true, MOVED)
REPLACED(ssize_t, recvfrom,
         (int file, void* data, std::size_t n, int flags, void* from, void* room),
         (file, data, n, flags, from, room), true, MOVED)
REPLACED(ssize_t, sendto,
         (int file, const void* data, std::size_t n, int flags, const void* to, unsigned room),
         (file, data, n, flags, to, room), true, MOVED)
REPLACED(ssize_t, recvmsg, (int file, void* message, int flags), (file, message, flags), true,
         MOVED)
REPLACED(ssize_t, sendmsg, (int file, const void* message, int flags), (file, message, flags), true,
         MOVED)

REPLACED(int, sendmmsg, (int file, void* messages, unsigned n, int flags),
         (file, messages, n, flags), true, 0)

REPLACED(int, sched_yield, (), (), true, 0)
WAITS(int, poll, (pollfd * files, nfds_t n, int limit), (files, n, limit))
WAITS(int, ppoll, (pollfd * files, nfds_t n, const timespec* limit, const sigset_t* signals),
      (files, n, limit, LetIn(signals)))
WAITS(int, select, (int n, fd_set* in, fd_set* out, fd_set* errors, timeval* limit),
      (n, in, out, errors, limit))
WAITS(int, pselect,
      (int n, fd_set* in, fd_set* out, fd_set* errors, const timespec* limit,
       const sigset_t* signals),
      (n, in, out, errors, limit, LetIn(signals)))
WAITS(int, epoll_wait, (int file, epoll_event* events, int n, int limit), (file, events, n, limit))
WAITS(int, epoll_pwait, (int file, epoll_event* events, int n, int limit, const sigset_t* signals),
      (file, events, n, limit, LetIn(signals)))
WAITS(int, nanosleep, (const timespec* time, timespec* left), (time, left))
WAITS(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left),
      (clock, flags, time, left))
WAITS(int, usleep, (unsigned us), (us))
WAITS(unsigned, sleep, (unsigned s), (s))

REPLACED(void*, mmap, (void* at, std::size_t n, int access, int flags, int file, long offset),
         (at, n, access, flags, file, offset), true, n)
REPLACED(void*, mmap64, (void* at, std::size_t n, int access, int flags, int file, long offset),
         (at, n, access, flags, file, offset), true, n)
REPLACED(int, munmap, (void* at, std::size_t n), (at, n), true, n)
REPLACED(int, mprotect, (void* at, std::size_t n, int access), (at, n, access), true, n)
REPLACED(int, madvise, (void* at, std::size_t n, int advice), (at, n, advice), true, n)
REPLACED(int, mlock, (const void* at, std::size_t n), (at, n), true, n)
REPLACED(void*, shmat, (int segment, const void* at, int flags), (segment, at, flags), true, 0)
REPLACED(int, shmdt, (const void* at), (at), true, 0)
REPLACED(int, open, (const char* path, int flags, unsigned mode), (path, flags, mode), true, 0)
REPLACED(int, open64, (const char* path, int flags, unsigned mode), (path, flags, mode), true, 0)
REPLACED(int, openat, (int folder, const char* path, int flags, unsigned mode),
         (folder, path, flags, mode), true, 0)
REPLACED(int, openat64, (int folder, const char* path, int flags, unsigned mode),
         (folder, path, flags, mode), true, 0)
REPLACED(int, close, (int file), (file), true, 0)
REPLACED(int, ioctl, (int file, unsigned long request, void* data), (file, request, data), true, 0)

// Calls of the kernel by their number: as many words as it takes are passed on. One that waits for
// another thread has a name of its own.
extern "C" __attribute__((visibility("default"))) long nearpeak_syscall(long, long, long, long,
                                                                        long, long,
                                                                        long) __asm__("syscall");
extern "C" long nearpeak_syscall(long number, long a, long b, long c, long d, long e, long f) {
  using namespace nearpeak::explain;
  static long (*found)(long, long, long, long, long, long, long) = nullptr;
  auto* const real = libc(found, "syscall");
  if (inside || !recording()) return real(number, a, b, c, d, e, f);
  static constinit Name waits{__COUNTER__ + 1, "futex"};
  static constinit Name others{__COUNTER__ + 1, "syscall"};
  return seen(
      number == SYS_futex ? waits : others, [&] { return real(number, a, b, c, d, e, f); },
      [](long) -> std::uint64_t { return 0; });
}

static_assert(__COUNTER__ < nearpeak::explain::kFirstDriverName, "each has a number of its own");
