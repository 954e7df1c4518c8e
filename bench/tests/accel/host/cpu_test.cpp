// SPDX-License-Identifier: Apache-2.0
#include "accel/host/cpu.hpp"

#include <doctest/doctest.h>

using namespace nearpeak;

#if defined(__x86_64__)
TEST_CASE("extensions of the CPU are those that the compiler's own question finds") {
  CHECK(cpu_has("sse2"));
  CHECK(cpu_has("avx2") == static_cast<bool>(__builtin_cpu_supports("avx2")));
  CHECK(cpu_has("avx512f") == static_cast<bool>(__builtin_cpu_supports("avx512f")));
}
#endif

TEST_CASE("no CPU has an extension that there is not") {
  CHECK_FALSE(cpu_has("avx1024"));
  CHECK_FALSE(cpu_has(""));
}
