// SPDX-License-Identifier: Apache-2.0
#include "layer/exported.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace nearpeak::layer {

TEST_CASE("what a rank has freed is heard once, and of much the last") {
  Freed freed;
  std::uint64_t seen = 0;
  const auto heard = [&] {
    std::vector<std::uint64_t> all;
    freed.each_since(seen, [&](std::uint64_t allocation) { all.push_back(allocation); });
    return all;
  };
  CHECK(heard().empty());
  freed.add(7);
  freed.add(9);
  CHECK(heard() == std::vector<std::uint64_t>{7, 9});
  CHECK(heard().empty());
  for (std::uint64_t i = 0; i < 100; ++i) freed.add(i);
  std::vector<std::uint64_t> last(64);
  std::iota(last.begin(), last.end(), 36);
  CHECK(heard() == last);
}

}  // namespace nearpeak::layer
