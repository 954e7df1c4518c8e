// SPDX-License-Identifier: Apache-2.0
#include "accel/background.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

using namespace nearpeak;

namespace {

// What a forked process ends with that does this.
template <typename What>
int status_of(const What& what) {
  const pid_t child = fork();
  if (child == 0) {
    what();
    std::exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("what is made in the background is there once it is made") {
  std::atomic<bool> goes_on{false};
  Background made([&] {
    while (!goes_on) usleep(100);
    return std::string("made");
  });
  CHECK_FALSE(made.ready());
  goes_on = true;
  CHECK(made.get() == "made");
  CHECK(made.ready());
  CHECK(made.get() == "made");
}

TEST_CASE("what fails in the background fails for who asks for it") {
  Background failed([]() -> std::string { throw std::runtime_error("no compiler"); });
  CHECK_THROWS_WITH(failed.get(), "no compiler");
  CHECK_THROWS_WITH(failed.get(), "no compiler");
  CHECK(failed.ready());
}

TEST_CASE("a program that ends waits for what is made in the background") {
  const int ended = status_of([] {
    static std::atomic<bool> over{false};
    // Behind that of libraries that are loaded by now.
    std::atexit([] { _exit(over ? 0 : 4); });
    new Background([] {
      usleep(20'000);
      over = true;
      return std::string();
    });
  });
  CHECK(WEXITSTATUS(ended) == 0);
}

TEST_CASE("a process that is forked while something is made does not wait for it") {
  std::atomic<bool> goes_on{false};
  Background made([&] {
    while (!goes_on) usleep(100);
    return std::string("made");
  });
  const int ended = status_of([&] {
    if (made.ready()) std::exit(5);
    try {
      made.get();
    } catch (const std::runtime_error&) {
      std::exit(0);
    }
  });
  CHECK(WEXITSTATUS(ended) == 0);
  goes_on = true;
}
