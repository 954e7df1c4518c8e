// SPDX-License-Identifier: Apache-2.0
// Payloads of numbers that are added up: small whole numbers, so that every sum is exact in every
// type and in every order of adding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "payload/pattern.hpp"

namespace nearpeak {

struct NumberType {
  std::string name;
  std::size_t bytes;
  std::uint64_t exact;  // it has every whole number up to this one
  void (*store)(void* to, std::uint64_t number);
};

// "float", "int", "double", "char" (signed or not: up to 127), "half" (IEEE 754 binary16),
// "bfloat16" (the upper half of a float).
const std::vector<NumberType>& number_types();
const NumberType& number_type(const std::string& name);  // throws std::out_of_range

// So many numbers are drawn, and come again and again. Each row of as many begins elsewhere among
// them, so that one that is where another belongs is seen.
inline constexpr std::size_t kDrawn = 64;
// Which of them is at an index.
std::size_t drawn_place(std::size_t index);

// What so many ranks contribute: drawn numbers.
class Numbers {
 public:
  // Throws std::range_error where the type is too narrow for exact sums of so many.
  Numbers(const NumberType& type, int ranks);

  std::size_t bytes() const { return type_.bytes; }  // of each
  // `count` of those of `rank` in a round, from the one at `first` on.
  void fill(void* to, std::size_t first, std::size_t count, int rank, std::uint64_t round) const;
  // Of the sums of `ranks` ranks, the lowest: the first wrong byte, counted from `data`.
  std::optional<Mismatch> find_wrong_sum(const void* data, std::size_t first, std::size_t count,
                                         int ranks, std::uint64_t round) const;

 private:
  std::uint64_t number_drawn(std::size_t place, int rank, std::uint64_t round) const;

  const NumberType& type_;
  std::uint64_t below_;  // all numbers are
};

}  // namespace nearpeak
