// SPDX-License-Identifier: Apache-2.0
#include "explain/sampling.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <unordered_map>

#include "explain/events.hpp"

namespace nearpeak::explain {
namespace {

// Often enough for a few dozen samples of a slot; a prime number of us, as what is looked at
// repeats.
constexpr long kEveryNs = 211'000;

std::uint64_t instruction(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
  static_cast<void>(machine);
  return 0;
#endif
}

constexpr std::uint64_t kSliceNs = 1'000'000;  // shorter samples are looked at, or not, together

// All of it belongs to the thread that marks.
timer_t timer{};
bool looks = false;
std::uint64_t slice_ns = 0;  // when `looks` changed
// The handler reads these.
volatile bool in_sample = false;  // a sample
volatile std::uint64_t ended_ns = 0;
[[gnu::tls_model("initial-exec")]] thread_local bool is_looked_at = false;
[[gnu::tls_model("initial-exec")]] thread_local volatile bool undisturbed = false;

void set_timer(long every_ns) {
  const itimerspec every{{0, every_ns}, {0, every_ns}};
  timer_settime(timer, 0, &every, nullptr);
}

void look(int, siginfo_t*, void* context) {
  // The clock is read for each event: by code of the kernel (vDSO), as of any other that reads it.
  const bool of_microscope = reads_clock();
  const std::uint64_t now = now_ns();
  // Nobody tells which sample was the last.
  if (!in_sample && now - ended_ns > kSliceNs) return set_timer(0);
  if (!undisturbed && !of_microscope) add(Kind::kSample, 0, now, now, instruction(context));
}

// Of the calling thread, with a timer that is not set yet.
bool make_timer() {
  struct sigaction action{};
  action.sa_sigaction = look;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (sigaction(SIGPROF, &action, nullptr) != 0) return false;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  // sigev_notify_thread_id, which glibc has a name for since 2.41.
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  is_looked_at = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
  return is_looked_at;
}

sigset_t only_that_of_samples() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  return set;
}

// `opal_progress, libopen-pal.so.80`; of what is not exported the library alone.
std::string words(std::uint64_t address) {
  Dl_info info{};
  void* symbol = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &info, &symbol, RTLD_DL_SYMENT) == 0) return "?";
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const std::string file = slash == nullptr ? info.dli_fname : slash + 1;
  const auto* const entry = static_cast<const ElfW(Sym)*>(symbol);
  const auto begin = reinterpret_cast<std::uint64_t>(info.dli_saddr);
  const bool within = info.dli_sname != nullptr && entry != nullptr && address >= begin &&
                      address < begin + entry->st_size;
  return within ? std::string(info.dli_sname) + ", " + file : file;
}

}  // namespace

bool looks_at_sample() {
  static const bool can_look = make_timer();
  const std::uint64_t now = now_ns();
  if (can_look && now - slice_ns > kSliceNs) {
    looks = !looks;
    slice_ns = now;
    set_timer(looks ? kEveryNs : 0);
  }
  in_sample = true;
  return looks;
}

bool ends_sample() {
  in_sample = false;
  ended_ns = now_ns();
  return looks;
}

Undisturbed::Undisturbed() : holds_(is_looked_at && !undisturbed) {
  if (!holds_) return;
  undisturbed = true;
  const sigset_t held = only_that_of_samples();
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

Undisturbed::~Undisturbed() {
  if (!holds_) return;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);  // one that is due comes here
  undisturbed = false;
}

LetIn::LetIn(const sigset_t* signals) : given_(signals != nullptr) {
  if (!given_) return;
  set_ = *signals;
  if (is_looked_at) sigaddset(&set_, SIGPROF);
}

void name_samples() {
  static std::unordered_map<std::uint64_t, std::uint16_t> known;
  for_samples([](std::uint64_t address) {
    const auto [found, is_new] = known.try_emplace(address);
    if (is_new) found->second = text_number(words(address).c_str());
    return found->second;
  });
}

}  // namespace nearpeak::explain
