// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/collective_sync.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace nearpeak::layer {
namespace {

// Ranks, each in a thread of its own.
class Ranks {
 public:
  explicit Ranks(std::size_t n, std::uint64_t number = 0) {
    for (std::size_t i = 0; i < n; ++i) memory_.push_back(std::make_unique<Seat>());
    std::vector<Seat*> seats;
    for (const auto& seat : memory_) seats.push_back(seat.get());
    for (std::size_t i = 0; i < n; ++i) syncs_.emplace_back(seats, i, number);
  }

  CollectiveSync& operator[](std::size_t i) { return syncs_[i]; }
  void run(const std::function<void(std::size_t rank, CollectiveSync& sync)>& what) {
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < syncs_.size(); ++i)
      all.emplace_back([&, i] { what(i, syncs_[i]); });
    for (std::thread& each : all) each.join();
  }

 private:
  std::vector<std::unique_ptr<Seat>> memory_;
  std::vector<CollectiveSync> syncs_;
};

Offer offer_of(std::uint64_t bytes) {
  Offer offer;
  offer.bytes = bytes;
  return offer;
}

const auto kIdle = [] { std::this_thread::yield(); };

}  // namespace

TEST_CASE("collective sync: all learn what all offer") {
  Ranks ranks(3, 1000);
  ranks.run([](std::size_t rank, CollectiveSync& sync) {
    for (std::uint64_t i = 0; i < 300; ++i) {
      const std::vector<Offer> all = sync.meet(offer_of(10 * i + rank), kIdle);
      REQUIRE(all.size() == 3);
      for (std::size_t r = 0; r < all.size(); ++r) CHECK(all[r].bytes == 10 * i + r);
      if (i == 0) CHECK(sync.agree(true, kIdle));
      sync.await(1, kIdle);
      sync.await(2, kIdle);
    }
  });
}

// Some do not offer, and wait for nobody: they may be far ahead when others look.
TEST_CASE("collective sync: all decide alike where some offer nothing") {
  constexpr std::size_t kRanks = 3;
  constexpr int kCalls = 2000;
  Ranks ranks(kRanks);
  std::vector<std::vector<bool>> direct(kRanks);
  ranks.run([&](std::size_t rank, CollectiveSync& sync) {
    std::uint64_t state = rank + 1;
    for (int i = 0; i < kCalls; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      if (state >> 62U == 0) {
        sync.pass();
        direct[rank].push_back(false);
        continue;
      }
      const std::vector<Offer> all = sync.meet(offer_of(i), kIdle);
      direct[rank].push_back(!all.empty());
      for (const Offer& each : all) CHECK(each.bytes == static_cast<std::uint64_t>(i));
      if (!all.empty()) sync.await(1, kIdle);
    }
  });
  CHECK(direct[0] == direct[1]);
  CHECK(direct[0] == direct[2]);
  CHECK(std::count(direct[0].begin(), direct[0].end(), true) > kCalls / 10);
}

// Also by one that has offered and looks late: the one that disagrees goes on as soon as it can.
TEST_CASE("collective sync: one that disagrees is heard, also when it has gone on") {
  Ranks ranks(3);
  std::atomic<bool> offered = false;
  ranks.run([&](std::size_t rank, CollectiveSync& sync) {
    const auto late = [&] {
      offered = true;
      if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    while (rank != 2 && !offered) kIdle();
    REQUIRE(sync.meet(offer_of(1), late).size() == 3);
    CHECK_FALSE(sync.agree(rank != 1, kIdle));
    for (int i = 0; rank == 1 && i < 3; ++i) sync.pass();
  });
}

TEST_CASE("collective sync: no two ranks have the same one in a place of their orders") {
  constexpr std::size_t kRanks = 5;
  Ranks ranks(kRanks);
  for (std::size_t place = 0; place < kRanks; ++place) {
    std::set<std::size_t> there;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const std::vector<std::size_t> order = ranks[rank].others_first();
      REQUIRE(order.size() == kRanks);
      CHECK(order.back() == rank);
      there.insert(order[place]);
    }
    CHECK(there.size() == kRanks);
  }
}

TEST_CASE("offers fit where all is alike but their memory") {
  Offer one = offer_of(8), other = offer_of(8);
  other.data = {.allocation = 3, .offset = 4};
  CHECK(one.fits(other));
  other.root = 2;
  CHECK_FALSE(one.fits(other));
}

}  // namespace nearpeak::layer
