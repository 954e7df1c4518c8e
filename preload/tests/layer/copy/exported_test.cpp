// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/exported.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
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

TEST_CASE("a part that is not within its allocation is an error") {
  const Exported exported{.base = 4096, .bytes = 100};
  CHECK_NOTHROW(check_part(exported, 0, 100));
  CHECK_NOTHROW(check_part(exported, 100, 0));
  CHECK_THROWS_AS(check_part(exported, 1, 100), std::out_of_range);
  CHECK_THROWS_AS(check_part(exported, ~std::uint64_t{0}, 2), std::out_of_range);
  CHECK_THROWS_AS(check_part(exported, 50, ~std::uint64_t{0}), std::out_of_range);
}

}  // namespace nearpeak::layer
