// SPDX-License-Identifier: Apache-2.0
// Divisions here call the function under test: it comes before the compiler's.
#include <doctest/doctest.h>

#include <cstdint>

namespace {

__extension__ using Wide = __int128;

Wide wide(std::int64_t high, std::uint64_t low) {
  return static_cast<Wide>((static_cast<Wide>(high) << 64) | low);
}

void check(Wide a, Wide b) {
  const Wide quotient = a / b, rest = a - quotient * b;
  CHECK((rest < 0 ? -rest : rest) < (b < 0 ? -b : b));
  CHECK((rest == 0 || (rest < 0) == (a < 0)));  // towards zero
}

}  // namespace

TEST_CASE("wide numbers are divided towards zero") {
  volatile std::int64_t seven = 7;
  const Wide large = wide(0x0123456789abcdef, 0xfedcba9876543210);
  CHECK(static_cast<std::int64_t>(Wide{-22} / seven) == -3);
  CHECK(static_cast<std::int64_t>(large / (large - 1)) == 1);
  CHECK(static_cast<std::int64_t>((large - 1) / large) == 0);
  for (const Wide a : {large, -large, Wide{0}, Wide{1}, wide(1, 0), wide(INT64_MIN, 1)})
    for (const Wide b : {Wide{1}, Wide{-1}, Wide{seven}, Wide{-1000000007}, wide(3, 5), large})
      check(a, b);
}
