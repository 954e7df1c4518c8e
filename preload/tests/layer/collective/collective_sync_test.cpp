// SPDX-License-Identifier: Apache-2.0
#include "layer/collective/collective_sync.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace nearpeak::layer {
namespace {

// Ranks, each in a thread of its own.
class Ranks {
 public:
  explicit Ranks(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) memory_.push_back(std::make_unique<Seat>());
    take();
  }
  // Another communicator has the seats.
  void take() {
    syncs_.clear();
    std::vector<const Seat*> seats;
    std::vector<std::uint64_t> tenancies;
    for (const auto& seat : memory_) {
      seats.push_back(seat.get());
      tenancies.push_back(syncs_.emplace_back(*seat).tenancy());
    }
    for (std::size_t i = 0; i < syncs_.size(); ++i)
      syncs_[i].open(seats, tenancies, i, *memory_[0]);
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

// A step of one that is direct.
void do_step(CollectiveSync& sync, std::uint64_t number, std::uint64_t step) {
  sync.come(number, step);
  while (!sync.all_came(number, step)) kIdle();
}

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed + 1) {}
  bool one_in_four() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 62U == 0;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

TEST_CASE("collective sync: all learn what all offer") {
  Ranks ranks(3);
  for (int tenancy = 0; tenancy < 2; ++tenancy) {
    ranks.run([](std::size_t rank, CollectiveSync& sync) {
      for (std::uint64_t i = 0; i < 300; ++i) {
        const std::uint64_t number = sync.next();
        const std::vector<Offer> all = sync.meet(number, offer_of(10 * i + rank), kIdle);
        REQUIRE(all.size() == 3);
        for (std::size_t r = 0; r < all.size(); ++r) CHECK(all[r].bytes == 10 * i + r);
        do_step(sync, number, 1);
        do_step(sync, number, 2);
      }
    });
    ranks.take();
  }
}

// Some do not offer, and wait for nobody: they may be far ahead when others look.
TEST_CASE("collective sync: all decide alike where some offer nothing") {
  constexpr std::size_t kRanks = 3;
  constexpr int kCalls = 2000;
  Ranks ranks(kRanks);
  std::vector<std::vector<bool>> direct(kRanks);
  ranks.run([&](std::size_t rank, CollectiveSync& sync) {
    Chance chance(rank);
    for (int i = 0; i < kCalls; ++i) {
      const std::uint64_t number = sync.next();
      if (chance.one_in_four()) {
        sync.pass(number);
        direct[rank].push_back(false);
        continue;
      }
      const std::vector<Offer> all = sync.meet(number, offer_of(i), kIdle);
      direct[rank].push_back(!all.empty());
      for (const Offer& each : all) CHECK(each.bytes == static_cast<std::uint64_t>(i));
      if (!all.empty()) do_step(sync, number, 1);
    }
  });
  CHECK(direct[0] == direct[1]);
  CHECK(direct[0] == direct[2]);
  CHECK(std::count(direct[0].begin(), direct[0].end(), true) > kCalls / 10);
}

// Several at a time, and each rank may take its offers back.
TEST_CASE("collective sync: all decide alike where some take their offers back") {
  constexpr std::size_t kRanks = 3;
  constexpr int kCalls = 1000;
  Ranks ranks(kRanks);
  std::vector<std::vector<bool>> direct(kRanks);
  ranks.run([&](std::size_t rank, CollectiveSync& sync) {
    Chance chance(rank);
    const auto decide = [&](std::uint64_t number) {
      std::vector<Offer> all(kRanks);
      for (std::size_t i = 0; i < kRanks;) {
        if (sync.is_denied(number)) return false;
        const CollectiveSync::Said said = sync.hear(i, number, all[i]);
        if (said == CollectiveSync::Said::kNothing) return false;
        if (said == CollectiveSync::Said::kNotYet && chance.one_in_four() &&
            !sync.decide(number, false))
          return false;
        i += said == CollectiveSync::Said::kOffers ? 1 : 0;
      }
      return sync.decide(number, true);
    };
    for (int i = 0; i < kCalls; i += 4) {
      std::vector<std::uint64_t> numbers;
      for (int k = 0; k < 4; ++k) {
        numbers.push_back(sync.next());
        sync.offer(numbers.back(), offer_of(i));
      }
      if (chance.one_in_four()) std::reverse(numbers.begin(), numbers.end());
      std::map<std::uint64_t, bool> decided;
      for (const std::uint64_t number : numbers) {
        decided[number] = decide(number);
        if (decided[number]) sync.come(number, 1);
      }
      for (const auto& [number, so] : decided) {
        direct[rank].push_back(so);
        while (so && !sync.all_came(number, 1)) kIdle();
      }
    }
  });
  CHECK(direct[0] == direct[1]);
  CHECK(direct[0] == direct[2]);
}

TEST_CASE("collective sync: an offer that all have seen is not taken back") {
  Ranks ranks(2);
  for (std::size_t rank = 0; rank < 2; ++rank) ranks[rank].offer(ranks[rank].next(), offer_of(1));
  CHECK(ranks[1].decide(1, true));
  CHECK(ranks[0].decide(1, false));
  CHECK_FALSE(ranks[0].is_denied(1));
  for (std::size_t rank = 0; rank < 2; ++rank) ranks[rank].offer(ranks[rank].next(), offer_of(1));
  CHECK_FALSE(ranks[0].decide(2, false));
  CHECK_FALSE(ranks[1].decide(2, true));
  CHECK(ranks[1].is_denied(2));
}

TEST_CASE("collective sync: who looks late sees that a seat went on") {
  Ranks ranks(2);
  CollectiveSync late = ranks[0];
  const std::uint64_t number = late.next();
  Offer offer;
  CHECK(late.hear(1, number, offer) == CollectiveSync::Said::kNotYet);
  ranks.take();
  CHECK(late.hear(1, number, offer) == CollectiveSync::Said::kNothing);
  ranks[1].offer(ranks[1].next(), offer_of(1));
  CHECK(late.hear(1, number, offer) == CollectiveSync::Said::kNothing);
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
