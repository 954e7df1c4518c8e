// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace nearpeak {

// A thread that no signal comes to: the application's threads handle those.
// Throws std::system_error where there are no more threads.
template <class Work>
std::thread quiet_thread(Work work) {
  struct Blocked {
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    sigset_t before;
  };
  const Blocked blocked;
  return std::thread(std::move(work));
}

}  // namespace nearpeak
