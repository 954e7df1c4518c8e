// SPDX-License-Identifier: Apache-2.0
#include "calls/handles.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "programs/native/process.hpp"
#include "record/record.hpp"

namespace nearpeak::calls {

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

namespace {

// All in one place of the table.
struct Alike {
  int number;
  explicit operator std::uint64_t() const { return 0; }
  bool operator==(const Alike&) const = default;
};

// Takes long to write.
struct Slow {
  int first = 0;
  int last = 0;
  Slow() = default;
  explicit Slow(int number) : first(number), last(number) {}
  Slow(Slow&&) = default;
  Slow& operator=(Slow&& other) {
    first = other.first;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    last = other.last;
    return *this;
  }
};

}  // namespace

TEST_CASE("handles: what is found while it is put is whole") {
  constexpr int kRounds = 20;
  constexpr int kReaders = 4;
  Handles<Alike, Slow> handles;
  std::atomic<int> done{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i)
    readers.emplace_back([&] {
      bind_to_cpu(this_place(0).cpus.front());  // so that each is now and then stopped anywhere
      for (int round = 1; round <= kRounds; ++round) {
        const Slow* found = nullptr;
        while (found == nullptr) found = handles.find({round});
        if (found->first != round || found->last != round) ++wrong;
        ++done;
      }
    });
  for (int round = 1; round <= kRounds; ++round) {
    handles.put({0}, Slow(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    handles.drop({0});
    handles.put({round}, Slow(round));  // where the other one was
    while (done < kReaders * round) std::this_thread::yield();
    handles.drop({round});
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong.load() == 0);
}

}  // namespace nearpeak::calls
