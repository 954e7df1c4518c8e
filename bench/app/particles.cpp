// SPDX-License-Identifier: Apache-2.0
#include "app/particles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/tiles.hpp"

namespace nearpeak::particles {

Blocks::Blocks(int ranks) : next_(static_cast<std::size_t>(ranks)) {
  const BlockGrid grid = near_cube(ranks);
  const std::array size{grid.planes, grid.rows, grid.columns};
  const auto moved = [](int at, int by, int all) { return (at + by + all) % all; };
  for (int rank = 0; rank < ranks; ++rank) {
    const std::array at{rank / (size[1] * size[2]), rank / size[2] % size[1], rank % size[2]};
    for (int direction = 0; direction < kDirections; ++direction) {
      const int number = direction < kDirections / 2 ? direction : direction + 1;  // of 27
      const int z = moved(at[0], number / 9 - 1, size[0]);
      const int y = moved(at[1], number / 3 % 3 - 1, size[1]);
      const int x = moved(at[2], number % 3 - 1, size[2]);
      next_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(direction)] =
          (z * size[1] + y) * size[2] + x;
    }
  }
}

Motion::Motion(std::uint64_t count, double percent, bool skewed)
    : count_(count),
      moving_(std::clamp<std::uint64_t>(
          static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * percent / 100)), 1,
          count)),
      stride_(static_cast<std::uint64_t>(static_cast<double>(count) * 0.618) + 1) {
  while (std::gcd(stride_, count_) != 1) ++stride_;
  const auto weight = [skewed](std::size_t direction) -> std::uint64_t {
    return skewed && direction % 2 == 0 ? 10 : 1;
  };
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < leaving_.size(); ++i) all += weight(i);
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < leaving_.size(); ++i) {
    const std::uint64_t after = before + weight(i);
    leaving_[i] = moving_ * after / all - moving_ * before / all;
    before = after;
    directions_.insert(directions_.end(), leaving_[i], static_cast<std::uint8_t>(i));
  }
}

std::vector<std::uint32_t> Motion::homes(const Blocks& blocks, int rank, std::uint64_t first,
                                         std::uint64_t steps) const {
  std::vector<std::uint32_t> indexes(count_);  // by phase
  for (std::uint64_t index = 0; index < count_; ++index)
    indexes[phase(index)] = static_cast<std::uint32_t>(index);
  std::vector<std::uint32_t> homes(count_, static_cast<std::uint32_t>(rank));
  for (std::uint64_t step = first; step < first + steps; ++step) {
    std::uint64_t at = (count_ - shift(step)) % count_;
    for (std::uint64_t place = 0; place < moving_; ++place) {
      std::uint32_t& home = homes[indexes[at]];
      home = static_cast<std::uint32_t>(
          blocks.next(static_cast<int>(home), Blocks::opposite(directions_[place])));
      if (++at == count_) at = 0;
    }
  }
  return homes;
}

std::uint64_t load_word(std::uint64_t id, std::uint64_t word, std::uint64_t round) {
  std::uint64_t x = id * 0x9E3779B97F4A7C15u + word * 0xC2B2AE3D27D4EB4Fu + round;
  x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93u;
  return x ^ (x >> 29);
}

void write_records(std::uint64_t* records, std::uint64_t first, std::uint64_t count,
                   const Motion& motion, std::uint64_t record_bytes, int rank,
                   std::uint64_t round) {
  const std::uint64_t words = record_bytes / sizeof(std::uint64_t);
  for (std::uint64_t index = first; index < first + count; ++index) {
    std::uint64_t* const record = records + (index - first) * words;
    const std::uint64_t id = static_cast<std::uint64_t>(rank) * motion.count() + index;
    record[kWordId] = id;
    record[kWordPhase] = motion.phase(index);
    for (std::uint64_t word = kWordLoad; word < words; ++word)
      record[word] = load_word(id, word, round);
  }
}

void RecordChecker::add(const std::uint64_t* records, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i, ++place_) {
    look_.ids += records[i * words_ + kWordId];
    if (!look_.wrong) check(records + i * words_);
  }
}

void RecordChecker::check(const std::uint64_t* record) {
  const std::uint64_t id = record[kWordId];
  const std::uint64_t index = id % motion_.count();
  check(record, kWordId, homes_[index] * motion_.count() + index);
  check(record, kWordPhase, motion_.phase(index));
  for (std::uint64_t word = kWordLoad; word < words_; ++word)
    check(record, word, load_word(id, word, round_));
  // There are as many places as indexes: one that is there twice stands for another that is not.
  if (!look_.wrong && seen_[index]) {
    std::uint64_t lost = 0;
    while (lost + 1 < motion_.count() && seen_[lost]) ++lost;
    look_.wrong = {place_, kWordId, homes_[lost] * motion_.count() + lost, id};
  }
  seen_[index] = true;
}

void RecordChecker::check(const std::uint64_t* record, std::uint64_t word, std::uint64_t expected) {
  if (!look_.wrong && record[word] != expected)
    look_.wrong = {place_, word, expected, record[word]};
}

}  // namespace nearpeak::particles
