// SPDX-License-Identifier: Apache-2.0
#include "explain/sampling.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
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

void look(int, siginfo_t*, void* context) {
  const std::uint64_t now = now_ns();
  add(Kind::kSample, 0, now, now, instruction(context));
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

void begin_samples() {
  struct sigaction action{};
  action.sa_sigaction = look;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (sigaction(SIGPROF, &action, nullptr) != 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  // sigev_notify_thread_id, which glibc has a name for since 2.41.
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  timer_t timer{};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  const itimerspec every{{0, kEveryNs}, {0, kEveryNs}};
  timer_settime(timer, 0, &every, nullptr);
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
