// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/kernel_copy_crossover.hpp"

#include <doctest/doctest.h>

#include <vector>

using nearpeak::layer::KernelCopyCrossover;
using std::chrono::microseconds;

namespace {

// How often is asked where lengths come in this order, of which a kernel is faster below `real`.
int asked(KernelCopyCrossover& crossover, const std::vector<std::size_t>& lengths,
          std::size_t real) {
  int times = 0;
  for (const std::size_t bytes : lengths) {
    if (!crossover.is_open(bytes)) continue;
    ++times;
    crossover.note(bytes, microseconds(bytes < real ? 1 : 2), microseconds(bytes < real ? 2 : 1));
  }
  return times;
}

}  // namespace

TEST_CASE("kernel copy crossover: a few copies find it to a quarter of the length") {
  for (const std::size_t real : {500u, 1100u, 2000u, 5000u, 7999u, 9000u}) {
    KernelCopyCrossover crossover(1000, 8000);
    CHECK_FALSE(crossover.found());
    std::vector<std::size_t> rising, falling;
    for (std::size_t bytes = 900; bytes <= 8000; ++bytes) {
      rising.push_back(bytes);
      falling.insert(falling.begin(), bytes);
    }
    CHECK(asked(crossover, real % 2 == 0 ? rising : falling, real) <= 13);
    CHECK(asked(crossover, rising, real) == 0);
    CHECK(crossover.found());
    CHECK(crossover.kernel_takes(1000));
    CHECK_FALSE(crossover.kernel_takes(8001));
    for (const std::size_t bytes : rising) {
      if (bytes > 1000 && bytes >= real) CHECK_FALSE(crossover.kernel_takes(bytes));
      if (bytes * 8 / 5 < real && bytes <= 5000) CHECK(crossover.kernel_takes(bytes));
    }
  }
}

TEST_CASE("kernel copy crossover: what gains less than a tenth is the engine's") {
  KernelCopyCrossover crossover(1000, 8000);
  crossover.note(4000, microseconds(95), microseconds(100));
  CHECK_FALSE(crossover.kernel_takes(4000));
  CHECK(crossover.kernel_bytes() == 1000);
  crossover.note(2000, microseconds(89), microseconds(100));
  CHECK(crossover.kernel_takes(2000));
}
