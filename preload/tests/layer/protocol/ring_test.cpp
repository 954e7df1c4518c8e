// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/ring.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace nearpeak::layer {
namespace {

struct Numbered {
  int number = 0;
  Numbered* before = nullptr;
  Numbered* after = nullptr;
};

std::vector<int> numbers_of_some(Ring<Numbered>& ring) {
  std::vector<int> numbers;
  ring.some([&](const Numbered& each) { numbers.push_back(each.number); });
  return numbers;
}

}  // namespace

TEST_CASE("a ring: each is looked at in its turn until it is removed") {
  Ring<Numbered> ring;
  CHECK(ring.empty());
  CHECK(numbers_of_some(ring).empty());
  std::array<Numbered, 3> all{{{.number = 1}, {.number = 2}, {.number = 3}}};
  for (Numbered& each : all) ring.add(each);
  CHECK(numbers_of_some(ring) == std::vector{1, 2, 3});
  ring.remove(all[1]);
  CHECK(numbers_of_some(ring) == std::vector{1, 3});
  ring.add(all[1]);
  CHECK(numbers_of_some(ring) == std::vector{1, 3, 2});
  // Also by what is done with it.
  ring.some([&](Numbered& each) {
    if (each.number != 3) ring.remove(each);
  });
  CHECK(numbers_of_some(ring) == std::vector{3});
  ring.remove(all[2]);
  CHECK(ring.empty());
}

TEST_CASE("a ring of many: some are looked at, and the others the next time") {
  Ring<Numbered> ring;
  std::array<Numbered, 100> all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].number = static_cast<int>(i);
    ring.add(all[i]);
  }
  const std::vector<int> first = numbers_of_some(ring);
  CHECK(first.front() == 0);
  CHECK(first.size() < all.size());
  CHECK(numbers_of_some(ring).front() == static_cast<int>(first.size()));
  // Those behind stay in their order, and none is left out where the next one is removed.
  CHECK(ring.first() == &all[0]);
  const std::size_t next = 2 * first.size();
  ring.remove(all[next]);
  CHECK(numbers_of_some(ring).front() == static_cast<int>(next) + 1);
  ring.some([&](Numbered& each) {
    if (each.after != nullptr) ring.remove(*each.after);
  });
  CHECK(ring.first() == &all[0]);
}

}  // namespace nearpeak::layer
