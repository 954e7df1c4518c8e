// SPDX-License-Identifier: Apache-2.0
#include "layer/border.hpp"

#include <doctest/doctest.h>

using nearpeak::layer::Border;
using std::chrono::microseconds;

TEST_CASE("border: a few copies find it") {
  for (const std::size_t real : {100u, 1000u, 1023u, 3000u, 7999u, 9000u}) {
    Border border(1000, 8000);
    CHECK(border.kernel_takes(1000));
    CHECK_FALSE(border.found());
    int asked = 0;
    for (int round = 0; round < 3; ++round)
      for (const std::size_t bytes :
           {500u, 1500u, 2000u, 3000u, 4000u, 6000u, 7999u, 8000u, 9000u}) {
        if (!border.is_open(bytes)) continue;
        ++asked;
        border.note(bytes, microseconds(bytes), microseconds(real));
      }
    CHECK(asked <= 6);
    CHECK(border.found());
    CHECK(border.kernel_takes(2000) == (real > 2000));
    CHECK(border.kernel_takes(6000) == (real > 6000));
    CHECK_FALSE(border.kernel_takes(8000));
  }
}

TEST_CASE("border: what is nearly known is not asked for") {
  Border border(1000, 8000);
  border.note(4000, microseconds(1), microseconds(2));
  CHECK(border.is_open(4001));
  border.note(5000, microseconds(2), microseconds(1));
  CHECK_FALSE(border.is_open(4500));
  CHECK_FALSE(border.kernel_takes(4001));
  CHECK(border.kernel_bytes() == 4000);
}
