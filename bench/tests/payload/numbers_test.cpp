// SPDX-License-Identifier: Apache-2.0
#include "payload/numbers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace nearpeak;

namespace {

// What the bits of a type mean, worked out by its definition.
double value_of(const NumberType& type, const unsigned char* at) {
  const auto as = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  if (type.name == "int") return as(std::int32_t{});
  if (type.name == "char") return *at;
  if (type.name == "float") return static_cast<double>(as(float{}));
  if (type.name == "double") return as(double{});
  const std::uint32_t bits = as(std::uint16_t{});
  const int fraction_bits = type.name == "half" ? 10 : 7;
  const int bias = type.name == "half" ? 15 : 127;
  const int exponent = static_cast<int>(bits >> fraction_bits);
  const std::uint32_t fraction = bits & ((1U << fraction_bits) - 1);
  if (bits == 0) return 0;
  return std::ldexp(1 + std::ldexp(fraction, -fraction_bits), exponent - bias);
}

void add(const NumberType& type, std::vector<unsigned char>& sums,
         const std::vector<unsigned char>& more) {
  for (std::size_t at = 0; at < sums.size(); at += type.bytes)
    type.store(&sums[at],
               static_cast<std::uint64_t>(value_of(type, &sums[at]) + value_of(type, &more[at])));
}

}  // namespace

TEST_CASE("every type has all whole numbers up to where it is exact") {
  for (const NumberType& type : number_types()) {
    CAPTURE(type.name);
    for (std::uint64_t number : {0, 1, 2, 3, 31, 100, 127, 255, 256}) {
      if (number > type.exact) continue;
      unsigned char bits[8] = {};
      type.store(bits, number);
      CHECK(value_of(type, bits) == static_cast<double>(number));
    }
    unsigned char bits[8] = {};
    type.store(bits, type.exact);
    CHECK(value_of(type, bits) == static_cast<double>(type.exact));
  }
}

TEST_CASE("sums of any order are exact, and a wrong one is found") {
  constexpr std::size_t kCount = 100;
  constexpr std::size_t kFirst = 7;
  for (const NumberType& type : number_types())
    for (const int ranks : {2, 5, 64})
      for (const std::uint64_t round : {0u, 1u, 8u}) {
        CAPTURE(type.name);
        CAPTURE(ranks);
        const Numbers numbers(type, ranks);
        std::vector<unsigned char> sums(kCount * type.bytes);
        std::vector<unsigned char> mine(sums.size());
        for (int rank = ranks - 1; rank >= 0; --rank) {
          numbers.fill(mine.data(), kFirst, kCount, rank, round);
          add(type, sums, mine);
        }
        const auto wrong = [&](int of, std::uint64_t in) {
          return numbers.find_wrong_sum(sums.data(), kFirst, kCount, of, in);
        };
        CHECK_FALSE(wrong(ranks, round));
        CHECK(wrong(ranks - 1, round));
        CHECK(numbers.find_wrong_sum(sums.data(), kFirst + 1, kCount, ranks, round));
        // As many numbers further on as are drawn.
        CHECK(numbers.find_wrong_sum(sums.data(), kFirst + kDrawn, kCount, ranks, round));
        sums[(kCount - 1) * type.bytes] ^= 1;
        const auto found = wrong(ranks, round);
        REQUIRE(found);
        CHECK(found->byte == (kCount - 1) * type.bytes);
      }
}

TEST_CASE("the numbers of another round, or of another rank, differ") {
  for (const NumberType& type : number_types()) {
    const Numbers numbers(type, 4);
    std::vector<unsigned char> first(64 * type.bytes);
    std::vector<unsigned char> other(first.size());
    numbers.fill(first.data(), 0, 64, 1, 3);
    numbers.fill(other.data(), 0, 64, 1, 4);
    CHECK(first != other);
    numbers.fill(other.data(), 0, 64, 2, 3);
    CHECK(first != other);
  }
}

TEST_CASE("a type that is too narrow for so many ranks is refused") {
  CHECK_NOTHROW(Numbers(number_type("bfloat16"), 256));
  CHECK_THROWS_WITH(Numbers(number_type("bfloat16"), 257),
                    "sums of 257 ranks are not exact in bfloat16: choose a wider type");
}
