// SPDX-License-Identifier: Apache-2.0
#include "trace/handles.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace nearpeak::trace {

TEST_CASE("handles: each is known until it is dropped itself") {
  Handles<int, std::string> handles;
  CHECK(handles.find(7) == nullptr);
  CHECK(*handles.put(7, "seven") == "seven");
  CHECK(*handles.put(8, "eight") == "eight");
  CHECK(*handles.put(7, "another thread asked too") == "seven");
  handles.drop(7);
  handles.drop(99);
  CHECK(handles.find(7) == nullptr);
  REQUIRE(handles.find(8) != nullptr);
  CHECK(*handles.find(8) == "eight");
  CHECK(*handles.put(7, "again") == "again");
}

TEST_CASE("handles: any number of them, numbers or addresses") {
  Handles<const int*, int> handles;
  std::vector<int> places(5000);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) handles.put(&places[static_cast<std::size_t>(i)], i + round);
    for (int i = 0; i < 5000; ++i) {
      const int* const place = &places[static_cast<std::size_t>(i)];
      REQUIRE(handles.find(place) != nullptr);
      CHECK(*handles.find(place) == i + round);
      handles.drop(place);
    }
  }
}

TEST_CASE("handles: threads that find them while others come and go") {
  Handles<int, int> handles;
  handles.put(1, 100);
  std::thread other([&] {
    for (int i = 0; i < 20000; ++i) {
      handles.put(2 + i % 50, i);
      handles.drop(2 + i % 50);
    }
  });
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const int* const found = handles.find(1);
    if (found == nullptr || *found != 100) ++wrong;
  }
  other.join();
  CHECK(wrong == 0);
}

}  // namespace nearpeak::trace
