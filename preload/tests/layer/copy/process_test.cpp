// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/process.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace nearpeak::layer {

TEST_CASE("process: what is written to its file there comes where the process reads") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  {
    const File taken = process_of(getpid())->file(ends[1]);
    if (!taken && errno == ENOSYS) return;  // a kernel before 5.6
    REQUIRE(static_cast<bool>(taken));
    CHECK(taken.number() != ends[1]);
    REQUIRE(write(taken.number(), "x", 1) == 1);
    char got = ' ';
    CHECK(read(ends[0], &got, 1) == 1);
    CHECK(got == 'x');
  }
  // It is closed at its end.
  close(ends[1]);
  char got = ' ';
  CHECK(read(ends[0], &got, 1) == 0);
  close(ends[0]);
}

TEST_CASE("process: errno says why there is no file") {
  constexpr int kNoFile = 1 << 20;
  const File none = process_of(getpid())->file(kNoFile);
  const int error = errno;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK((error == EBADF || error == ENOSYS));
  CHECK_FALSE(static_cast<bool>(process_of(-1)->file(0)));
}

TEST_CASE("process: it has ended once nobody has its number") {
  CHECK_FALSE(process_of(getpid())->has_ended());
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  CHECK(process_of(child)->has_ended());
}

}  // namespace nearpeak::layer
