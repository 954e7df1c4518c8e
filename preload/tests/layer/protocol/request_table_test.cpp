// SPDX-License-Identifier: Apache-2.0
#include "layer/protocol/request_table.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

namespace nearpeak::layer {

TEST_CASE("requests: each is known until it is dropped") {
  RequestTable<int, const char> table;
  const char one = 1, two = 2;
  CHECK(table.empty());
  CHECK(table.find(5) == nullptr);
  table.drop(5);
  CHECK(table.put(5, &one) == nullptr);
  CHECK(table.find(5) == &one);
  CHECK(table.find(6) == nullptr);
  CHECK(table.put(5, &two) == &one);
  CHECK(table.find(5) == &two);
  table.drop(5);
  CHECK(table.find(5) == nullptr);
  CHECK(table.empty());
}

// Against a map: puts and drops at random, of few handles so that many meet, and of many.
TEST_CASE("requests: what is dropped hides no other") {
  for (const int handles : {40, 5000}) {
    std::mt19937 random(7);
    std::vector<char> records(static_cast<std::size_t>(handles));
    RequestTable<int, char> table;
    std::map<int, char*> expected;
    for (int i = 0; i < 20000; ++i) {
      const int handle = static_cast<int>(random() % static_cast<unsigned>(handles));
      char* const record = &records[static_cast<std::size_t>(handle)];
      if (random() % 2 == 0) {
        table.put(handle * 64, record);
        expected[handle] = record;
      } else {
        table.drop(handle * 64);
        expected.erase(handle);
      }
    }
    bool alike = true;
    for (int handle = 0; handle < handles; ++handle) {
      const auto found = expected.find(handle);
      alike =
          alike && table.find(handle * 64) == (found == expected.end() ? nullptr : found->second);
    }
    CHECK(alike);
    std::size_t count = 0;
    table.each([&](char&) { ++count; });
    CHECK(count == expected.size());
  }
}

TEST_CASE("requests: handles may be addresses") {
  std::vector<int> places(3000);
  RequestTable<const int*, int> table;
  for (int& place : places) table.put(&place, &place);
  bool alike = true;
  for (int& place : places) alike = alike && table.find(&place) == &place;
  CHECK(alike);
}

}  // namespace nearpeak::layer
