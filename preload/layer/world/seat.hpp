// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other of a collective, in the memory that they share
// (docs/contributing/layer-design.md).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "layer/copy/exported.hpp"

namespace nearpeak::layer {

// What a rank says of a collective with buffers on a device: all of it but where they are must be
// alike.
struct Offer {
  struct Memory {
    std::uint64_t allocation = 0;
    std::uint64_t offset = 0;  // in it

    bool operator==(const Memory&) const = default;
  };

  std::uint8_t collective = 0;
  std::uint8_t kind = 0;  // of numbers; with the operation, where it combines them
  std::uint8_t bytes_of_number = 0;
  std::uint8_t operation = 0;
  std::int32_t root = -1;
  std::uint64_t bytes = 0;  // that each rank gives or gets, or gives to or gets from each
  Memory data;              // what others read, if they do,
  Memory in;                // and where they read what has become of it

  bool fits(const Offer& other) const {
    return collective == other.collective && kind == other.kind &&
           bytes_of_number == other.bytes_of_number && operation == other.operation &&
           root == other.root && bytes == other.bytes;
  }
};

// What a rank shows the others of one collective at a time.
struct Lane {
  static constexpr std::size_t kWords = sizeof(Offer) / 8;

  // 4 times the key of a collective (CollectiveSync), and what the rank says of it.
  std::atomic<std::uint64_t> told{0};
  std::array<std::atomic<std::uint64_t>, kWords> words{};  // an Offer
  // 8 times the key, and how far it is in it.
  alignas(64) std::atomic<std::uint64_t> step{0};
  // In the first rank's seat, and written by all: twice the key by this rank's numbers, and whether
  // a collective that does not wait is direct.
  alignas(64) std::atomic<std::uint64_t> verdict{0};
  static constexpr std::size_t kMost = 8;  // ranks
  // Of data and of in, where all have agreed; and how far from the start of data that is which each
  // rank reads, where they cannot know that.
  std::array<Exported, 2> handles;
  std::array<std::int64_t, kMost> places{};
};

// What a rank shows the others of a communicator, or of a persistent collective. All numbers grow,
// also from one that has the seat to the next: who looks late sees that it went on.
struct alignas(64) Seat {
  static constexpr std::size_t kLanes = 16;  // collectives under way at a time

  enum Reach : std::uint32_t { kUnknown = 0, kNo, kYes };

  // The key of the last collective that it has called, of which its lane says the rest.
  std::atomic<std::uint64_t> called{0};
  // 4 times the tenancy, and whether it opens the memory of all others.
  std::atomic<std::uint64_t> reach{kUnknown};
  std::array<Lane, kLanes> lanes{};
};

}  // namespace nearpeak::layer
