// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/process_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

using nearpeak::layer::ProcessFile;

TEST_CASE("file of a process: what is written there comes where the process reads") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  {
    const ProcessFile taken(getpid(), ends[1]);
    if (!taken && errno == ENOSYS) return;  // a kernel before 5.6
    REQUIRE(static_cast<bool>(taken));
    CHECK(taken.file() != ends[1]);
    REQUIRE(write(taken.file(), "x", 1) == 1);
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

TEST_CASE("file of a process: errno says why there is none") {
  constexpr int kNoFile = 1 << 20;
  const ProcessFile none(getpid(), kNoFile);
  const int error = errno;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK((error == EBADF || error == ENOSYS));
  const ProcessFile nobody(-1, 0);
  CHECK_FALSE(static_cast<bool>(nobody));
}
