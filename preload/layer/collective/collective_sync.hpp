// SPDX-License-Identifier: Apache-2.0
// How the ranks of a communicator agree, in the memory that they share, on which way a collective
// goes, and wait for each other while it does (docs/contributing/layer-design.md).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "layer/world/seat.hpp"

namespace nearpeak::layer {

// One rank's. A collective is direct if all ranks offer the same: whoever offers waits for what the
// others say. Who does not offer, or sees one that does not, goes on at once. So one that is beyond
// a collective that this rank has not agreed on has seen that it is not direct.
class CollectiveSync {
 public:
  // The seats of all ranks, and the number from which on all of them are new.
  CollectiveSync(std::vector<Seat*> seats, std::size_t own, std::uint64_t number)
      : seats_(std::move(seats)), own_(own), number_(number) {}

  std::size_t size() const { return seats_.size(); }
  std::size_t own() const { return own_; }
  const Seat& seat(std::size_t i) const { return *seats_[i]; }
  Seat& seat() { return *seats_[own_]; }
  // All ranks from the next one on, this one last. At no place do two ranks have the same one: who
  // reads what others have, in this order, is not with all at the link of one.
  std::vector<std::size_t> others_first() const {
    std::vector<std::size_t> all(size());
    for (std::size_t k = 0; k < size(); ++k) all[k] = (own_ + 1 + k) % size();
    return all;
  }

  // The next collective: this rank does not do it directly.
  void pass() { seat().told.store(4 * ++number_ + kNothing, std::memory_order_release); }

  // The next collective: what all offer, or nothing where one of them does not. `idle` is called
  // while it waits.
  template <typename Idle>
  std::vector<Offer> meet(const Offer& offer, const Idle& idle) {
    ++number_;
    tell(offer);
    std::vector<Offer> all(size());
    for (std::size_t i = 0; i < size(); ++i)
      if (!hear(i, all[i], idle)) return {};
    return all;
  }

  // Whether all say so, of a collective that all offer; before any step of it. Waits for all, also
  // behind one that does not: none that goes on may seem to others not to have offered.
  template <typename Idle>
  bool agree(bool so, const Idle& idle) {
    seat().step.store(8 * number_ + (so ? kYes : kNo), std::memory_order_release);
    bool all = true;
    for (const Seat* const each : seats_) {
      std::uint64_t step = 0;
      while ((step = each->step.load(std::memory_order_acquire)) < 8 * number_ + kNo) idle();
      all = all && step != 8 * number_ + kNo && step < 8 * (number_ + 1);
    }
    return all;
  }

  // Waits until all have come as far, by the first step, or the next.
  template <typename Idle>
  void await(std::uint64_t step, const Idle& idle) {
    const std::uint64_t there = 8 * number_ + kYes + step;
    seat().step.store(there, std::memory_order_release);
    for (const Seat* const each : seats_)
      while (each->step.load(std::memory_order_acquire) < there) idle();
  }

 private:
  enum Told : std::uint64_t { kNothing = 0, kOffers = 1, kWriting = 2 };
  enum Steps : std::uint64_t { kNo = 1, kYes = 2 };
  static_assert(sizeof(Offer) % 8 == 0);

  void tell(const Offer& offer) {
    std::array<std::uint64_t, Seat::kWords> words;
    std::memcpy(words.data(), &offer, sizeof(offer));
    seat().told.store(4 * number_ + kWriting, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < words.size(); ++i)
      seat().words[i].store(words[i], std::memory_order_relaxed);
    seat().told.store(4 * number_ + kOffers, std::memory_order_release);
  }

  // False where it does not offer.
  template <typename Idle>
  bool hear(std::size_t from, Offer& offer, const Idle& idle) {
    const Seat& other = *seats_[from];
    const std::uint64_t offers = 4 * number_ + kOffers;
    std::uint64_t told = 0;
    while ((told = other.told.load(std::memory_order_acquire)) < 4 * number_ ||
           told == 4 * number_ + kWriting)
      idle();
    if (told != offers) return false;
    std::array<std::uint64_t, Seat::kWords> words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = other.words[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(static_cast<void*>(&offer), words.data(), sizeof(offer));
    return other.told.load(std::memory_order_relaxed) == offers;
  }

  std::vector<Seat*> seats_;
  std::size_t own_;
  std::uint64_t number_;
};

}  // namespace nearpeak::layer
