// SPDX-License-Identifier: Apache-2.0
// How the ranks of a communicator agree, in the memory that they share, on which way a collective
// goes, and wait for each other while it does (docs/contributing/layer-design.md).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "layer/world/seat.hpp"

namespace nearpeak::layer {

// One rank's. Collectives have numbers, in the order of the calls, and a lane of the seats each. A
// collective is direct if all ranks offer the same. Who does not offer goes on at once. So one that
// is beyond a collective that this rank has not agreed on has seen that it is not direct.
class CollectiveSync {
 public:
  enum class Said { kNotYet, kNothing, kOffers };

  // Takes the seat, which another communicator may have had.
  explicit CollectiveSync(Seat& seat)
      : seat_(&seat), tenancy_((seat.called.load(std::memory_order_relaxed) >> kBits) + 1) {
    seat.called.store(tenancy_ << kBits, std::memory_order_release);
  }
  // How often the seat was taken. Others need it to understand what it says.
  std::uint64_t tenancy() const { return tenancy_; }
  // Until then this rank offers nothing.
  void open(std::vector<const Seat*> seats, std::vector<std::uint64_t> tenancies, std::size_t own,
            Seat& first) {
    seats_ = std::move(seats);
    tenancies_ = std::move(tenancies);
    own_ = own;
    first_ = &first;
  }
  bool is_open() const { return first_ != nullptr; }

  std::size_t size() const { return seats_.size(); }
  std::size_t own() const { return own_; }
  // All ranks from the next one on, this one last. At no place do two ranks have the same one: who
  // reads what others have, in this order, is not with all at the link of one.
  std::vector<std::size_t> others_first() const {
    std::vector<std::size_t> all(size());
    for (std::size_t k = 0; k < size(); ++k) all[k] = (own_ + 1 + k) % size();
    return all;
  }

  std::uint64_t next() { return ++number_; }
  static std::size_t lane_of(std::uint64_t number) { return number % Seat::kLanes; }
  const Lane& lane(std::size_t i, std::uint64_t number) const {
    return seats_[i]->lanes[lane_of(number)];
  }
  Lane& lane(std::uint64_t number) { return seat_->lanes[lane_of(number)]; }

  // This rank does not do it directly.
  void pass(std::uint64_t number) {
    seat_->called.store(own_key(number), std::memory_order_release);
  }
  void offer(std::uint64_t number, const Offer& offer) {
    std::array<std::uint64_t, Lane::kWords> words;
    std::memcpy(words.data(), &offer, sizeof(offer));
    Lane& own = lane(number);
    own.told.store(4 * own_key(number) + kWriting, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < words.size(); ++i)
      own.words[i].store(words[i], std::memory_order_relaxed);
    own.told.store(4 * own_key(number) + kOffers, std::memory_order_release);
    pass(number);
  }
  // What a rank says of it.
  Said hear(std::size_t i, std::uint64_t number, Offer& offer) const {
    const std::uint64_t key = key_of(i, number), offers = 4 * key + kOffers;
    const bool called = seats_[i]->called.load(std::memory_order_acquire) >= key;
    const Lane& its = lane(i, number);
    if (its.told.load(std::memory_order_acquire) != offers)
      return called ? Said::kNothing : Said::kNotYet;
    std::array<std::uint64_t, Lane::kWords> words;
    for (std::size_t k = 0; k < words.size(); ++k)
      words[k] = its.words[k].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(static_cast<void*>(&offer), words.data(), sizeof(offer));
    const bool same = its.told.load(std::memory_order_relaxed) == offers;
    return same ? Said::kOffers : Said::kNothing;
  }
  // What all offer, or nothing where one of them does not. `idle` is called while it waits.
  template <typename Idle>
  std::vector<Offer> meet(std::uint64_t number, const Offer& own, const Idle& idle) {
    offer(number, own);
    std::vector<Offer> all(size());
    for (std::size_t i = 0; i < size(); ++i) {
      Said said = Said::kNotYet;
      while ((said = hear(i, number, all[i])) == Said::kNotYet) idle();
      if (said == Said::kNothing) return {};
    }
    return all;
  }

  // Of one that does not wait, a rank may take its offer back while not all have seen that all
  // offer. The first to say which it is, of all ranks, decides; returns whether it is direct.
  bool decide(std::uint64_t number, bool direct) {
    const std::uint64_t key = key_of(0, number);
    auto& verdict = first_->lanes[lane_of(number)].verdict;
    std::uint64_t known = verdict.load(std::memory_order_acquire);
    while (known < 2 * key) {
      const std::uint64_t own = 2 * key + (direct ? 1 : 0);
      if (verdict.compare_exchange_weak(known, own, std::memory_order_acq_rel)) return direct;
    }
    // A later one has the lane: all ranks have left this one, which was not direct without this.
    return known == 2 * key + 1;
  }
  // Whether one has taken its offer back.
  bool is_denied(std::uint64_t number) const {
    const std::uint64_t key = key_of(0, number);
    const auto known = first_->lanes[lane_of(number)].verdict.load(std::memory_order_acquire);
    return known >= 2 * key && known != 2 * key + 1;
  }

  // Whether this rank opens the memory of all others.
  void say_reach(bool all) {
    seat_->reach.store(4 * tenancy_ + (all ? Seat::kYes : Seat::kNo), std::memory_order_release);
  }
  // Who has left the seat to another tenancy has said no: of a direct one nobody leaves.
  Seat::Reach reach(std::size_t i) const {
    const std::uint64_t said = seats_[i]->reach.load(std::memory_order_acquire);
    if (said / 4 != tenancies_[i]) return said / 4 < tenancies_[i] ? Seat::kUnknown : Seat::kNo;
    return static_cast<Seat::Reach>(said % 4);
  }

  // This rank has come so far, from step 1 on, in one that is direct.
  void come(std::uint64_t number, std::uint64_t step) {
    lane(number).step.store(8 * own_key(number) + step, std::memory_order_release);
  }
  bool all_came(std::uint64_t number, std::uint64_t step) const {
    for (std::size_t i = 0; i < size(); ++i)
      if (lane(i, number).step.load(std::memory_order_acquire) < 8 * key_of(i, number) + step)
        return false;
    return true;
  }

 private:
  enum Told : std::uint64_t { kOffers = 1, kWriting = 2 };
  static constexpr unsigned kBits = 36;  // of a number; the rest of a key is the tenancy
  static_assert(sizeof(Offer) % 8 == 0);

  std::uint64_t own_key(std::uint64_t number) const { return (tenancy_ << kBits) + number; }
  std::uint64_t key_of(std::size_t i, std::uint64_t number) const {
    return (tenancies_[i] << kBits) + number;
  }

  Seat* seat_;
  std::uint64_t tenancy_;
  std::vector<const Seat*> seats_;
  std::vector<std::uint64_t> tenancies_;
  std::size_t own_ = 0;
  Seat* first_ = nullptr;
  std::uint64_t number_ = 0;
};

}  // namespace nearpeak::layer
