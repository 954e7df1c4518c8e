// SPDX-License-Identifier: Apache-2.0
#include "accel/quiet_thread.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;

namespace {

bool blocks(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("a quiet thread gets no signal, and its starter gets them as before") {
  const bool before = blocks(SIGUSR1);
  bool within = false;
  quiet_thread([&] { within = blocks(SIGUSR1); }).join();
  CHECK(within);
  CHECK(blocks(SIGUSR1) == before);
}
