// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "app/particles.hpp"

namespace nearpeak::particles {
namespace {

// Records of kBytes, so that copies are of a size that the compiler knows.
template <std::uint64_t kBytes>
class OnHost final : public Particles {
 public:
  OnHost(const CaseContext& context, const Motion& motion)
      : Particles(context, motion, kBytes),
        records_(context.memory, motion.count() * kBytes, 1),
        found_(motion.moving()),
        leaving_(motion.moving()) {}

  Counts find_leaving(std::uint64_t shift) override {
    counts_ = {};
    found_.clear();
    const std::uint64_t all = motion_.count();
    const std::uint64_t moving = motion_.moving();
    for (std::uint64_t place = 0; place < all; ++place) {
      std::uint64_t in_window = record(place)[kWordPhase] + shift;
      if (in_window >= all) in_window -= all;
      if (in_window >= moving || found_.size() == moving) continue;
      const std::uint8_t direction = motion_.directions()[in_window];
      ++counts_[direction];
      found_.push_back({static_cast<std::uint32_t>(place), direction});
    }
    return counts_;
  }

  void pack(const std::array<int, kDirections>& order) override {
    std::array<std::uint64_t, kDirections> next{};
    std::uint64_t begin = 0;
    for (const int direction : order) {
      next[static_cast<std::size_t>(direction)] = begin;
      begin += counts_[static_cast<std::size_t>(direction)];
    }
    for (const Found& found : found_) {
      const std::uint64_t at = next[found.direction]++;
      leaving_[at] = found.place;
      std::memcpy(out().slot(0) + at * kBytes, record(found.place), kBytes);
    }
  }

  void unpack(std::uint64_t count) override {
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(record(leaving_[i]), in().slot(0) + i * kBytes, kBytes);
  }

  void set(int rank, std::uint64_t round) override {
    write_records(record(0), 0, motion_.count(), motion_, kBytes, rank, round);
  }
  Look look(const std::vector<std::uint32_t>& homes, std::uint64_t round) override {
    RecordChecker checker(motion_, kBytes, homes, round);
    checker.add(record(0), motion_.count());
    return checker.look();
  }

 private:
  struct Found {
    std::uint32_t place;
    std::uint8_t direction;
  };

  std::uint64_t* record(std::uint64_t place) const {
    return reinterpret_cast<std::uint64_t*>(records_.slot(0) + place * kBytes);
  }

  const SlotBuffer records_;
  Counts counts_{};
  std::vector<Found> found_;
  std::vector<std::uint32_t> leaving_;  // their places, as they are packed
};

}  // namespace

std::unique_ptr<Particles> on_host(const CaseContext& context, const Motion& motion,
                                   std::uint64_t record_bytes) {
  if (record_bytes == 32) return std::make_unique<OnHost<32>>(context, motion);
  if (record_bytes == 192) return std::make_unique<OnHost<192>>(context, motion);
  return std::make_unique<OnHost<336>>(context, motion);
}

}  // namespace nearpeak::particles
