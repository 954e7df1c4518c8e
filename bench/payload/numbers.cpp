// SPDX-License-Identifier: Apache-2.0
#include "payload/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace nearpeak {
namespace {

constexpr std::uint64_t kMostNumbers = 32;

template <class T>
void store_as(void* to, std::uint64_t number) {
  const T value = static_cast<T>(number);
  std::memcpy(to, &value, sizeof(T));
}

std::uint32_t float_bits(std::uint64_t number) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

// Of a whole number below 65520: five bits of exponent and ten of fraction.
void store_half(void* to, std::uint64_t number) {
  const std::uint32_t bits = float_bits(number);
  constexpr std::uint32_t kOffset = 127 - 15;  // of the exponents of both types
  const std::uint32_t exponent = (bits >> 23) - kOffset;
  store_as<std::uint16_t>(to, number == 0 ? 0 : (exponent << 10) | ((bits >> 13) & 0x3ff));
}

void store_bfloat16(void* to, std::uint64_t number) {
  store_as<std::uint16_t>(to, float_bits(number) >> 16);
}

// All that are drawn, twice: rows that begin anywhere among them lie in one piece.
std::vector<unsigned char> table_of(const NumberType& type, const auto& number_of) {
  std::vector<unsigned char> table(2 * kDrawn * type.bytes);
  for (std::size_t i = 0; i < 2 * kDrawn; ++i)
    type.store(&table[i * type.bytes], number_of(i % kDrawn));
  return table;
}

// Calls use(done, count, place) for `total` numbers from the one at `first` on: those from `done`
// on are as many in a row, the first of them drawn at `place`. Ends when it returns false.
template <class Use>
void in_rows(std::size_t first, std::size_t total, Use use) {
  for (std::size_t done = 0; done < total;) {
    const std::size_t count = std::min(kDrawn - (first + done) % kDrawn, total - done);
    if (!use(done, count, drawn_place(first + done))) return;
    done += count;
  }
}

}  // namespace

const std::vector<NumberType>& number_types() {
  static const std::vector<NumberType> types{
      {"float", 4, std::uint64_t{1} << 24, store_as<float>},
      {"int", 4, (std::uint64_t{1} << 31) - 1, store_as<std::int32_t>},
      {"double", 8, std::uint64_t{1} << 53, store_as<double>},
      {"char", 1, 127, store_as<signed char>},
      {"half", 2, std::uint64_t{1} << 11, store_half},
      {"bfloat16", 2, std::uint64_t{1} << 8, store_bfloat16}};
  return types;
}

const NumberType& number_type(const std::string& name) {
  for (const NumberType& type : number_types())
    if (type.name == name) return type;
  throw std::out_of_range("no type of numbers is called " + name);
}

Numbers::Numbers(const NumberType& type, int ranks)
    : type_(type),
      below_(std::min(kMostNumbers, type.exact / static_cast<std::uint64_t>(ranks) + 1)) {
  if (below_ < 2)
    throw std::range_error("sums of " + std::to_string(ranks) + " ranks are not exact in " +
                           type.name + ": choose a wider type");
}

std::size_t drawn_place(std::size_t index) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  const std::uint64_t begin = (index / kDrawn * kOdd) >> 58;
  return (index + begin) % kDrawn;
}

std::uint64_t Numbers::number_drawn(std::size_t place, int rank, std::uint64_t round) const {
  const std::uint64_t seed = (static_cast<std::uint64_t>(rank) << 40) + (round << 20);
  return payload_word({seed}, 0, 1 + place, kDrawn * 16) % below_;
}

void Numbers::fill(void* to, std::size_t first, std::size_t count, int rank,
                   std::uint64_t round) const {
  const auto table =
      table_of(type_, [&](std::size_t place) { return number_drawn(place, rank, round); });
  auto* const out = static_cast<unsigned char*>(to);
  in_rows(first, count, [&](std::size_t done, std::size_t row, std::size_t place) {
    std::memcpy(out + done * bytes(), &table[place * bytes()], row * bytes());
    return true;
  });
}

std::optional<Mismatch> Numbers::find_wrong_sum(const void* data, std::size_t first,
                                                std::size_t count, int ranks,
                                                std::uint64_t round) const {
  const auto table = table_of(type_, [&](std::size_t place) {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += number_drawn(place, rank, round);
    return sum;
  });
  const auto* const in = static_cast<const unsigned char*>(data);
  std::optional<Mismatch> wrong;
  in_rows(first, count, [&](std::size_t done, std::size_t row, std::size_t place) {
    const unsigned char* const wanted = &table[place * bytes()];
    const unsigned char* const got = in + done * bytes();
    if (std::memcmp(got, wanted, row * bytes()) == 0) return true;
    const auto at = std::mismatch(wanted, wanted + row * bytes(), got);
    wrong = Mismatch{0, static_cast<std::size_t>(at.second - in), *at.first, *at.second};
    return false;
  });
  return wrong;
}

}  // namespace nearpeak
