// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cerrno>

// True where the CPU may read this address; the kernel looks instead of this process.
inline bool readable(const void* address) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const bool could = write(ends[1], address, 1) == 1;
  CHECK((could || errno == EFAULT));
  close(ends[0]);
  close(ends[1]);
  return could;
}
