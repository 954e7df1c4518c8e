// SPDX-License-Identifier: Apache-2.0
#include "payload/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace nearpeak {
namespace {

constexpr std::uint64_t kMostNumbers = 32;
constexpr std::size_t kDrawn = 64;

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

std::vector<unsigned char> table_of(const NumberType& type, const auto& number_of) {
  std::vector<unsigned char> table(kDrawn * type.bytes);
  for (std::size_t i = 0; i < kDrawn; ++i) type.store(&table[i * type.bytes], number_of(i));
  return table;
}

}  // namespace

const std::vector<NumberType>& number_types() {
  static const std::vector<NumberType> types{
      {"float", 4, std::uint64_t{1} << 24, store_as<float>},
      {"int", 4, (std::uint64_t{1} << 31) - 1, store_as<std::int32_t>},
      {"double", 8, std::uint64_t{1} << 53, store_as<double>},
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

std::uint64_t Numbers::number_at(std::size_t index, int rank, std::uint64_t round) const {
  const std::uint64_t seed = (static_cast<std::uint64_t>(rank) << 40) + (round << 20);
  return payload_word({seed}, 0, 1 + index % kDrawn, kDrawn * 16) % below_;
}

void Numbers::fill(void* to, std::size_t first, std::size_t count, int rank,
                   std::uint64_t round) const {
  const auto table =
      table_of(type_, [&](std::size_t i) { return number_at(first + i, rank, round); });
  for (std::size_t done = 0; done < count; done += kDrawn)
    std::memcpy(static_cast<unsigned char*>(to) + done * bytes(), table.data(),
                std::min(kDrawn, count - done) * bytes());
}

std::optional<Mismatch> Numbers::find_wrong_sum(const void* data, std::size_t first,
                                                std::size_t count, int ranks,
                                                std::uint64_t round) const {
  const auto table = table_of(type_, [&](std::size_t i) {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += number_at(first + i, rank, round);
    return sum;
  });
  const auto* const in = static_cast<const unsigned char*>(data);
  for (std::size_t done = 0; done < count * bytes(); done += table.size()) {
    const std::size_t length = std::min(table.size(), count * bytes() - done);
    if (std::memcmp(in + done, table.data(), length) == 0) continue;
    const auto at = static_cast<std::size_t>(
        std::mismatch(table.begin(), table.begin() + length, in + done).first - table.begin());
    return Mismatch{0, done + at, table[at], in[done + at]};
  }
  return std::nullopt;
}

}  // namespace nearpeak
