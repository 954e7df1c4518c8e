// SPDX-License-Identifier: Apache-2.0
// Particles in a periodic box that is cut into one block for each rank. Every step some of those of
// a rank move to the blocks around. Who moves and where follows in closed form, and is such that a
// rank always has exactly one particle of each index: as many come as go.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "benchmark/benchmark.hpp"

namespace nearpeak::particles {

inline constexpr int kDirections = 26;

// Which rank is next to which.
class Blocks {
 public:
  explicit Blocks(int ranks);
  int ranks() const { return static_cast<int>(next_.size()); }
  // The rank that particles of `rank` move to.
  int next(int rank, int direction) const {
    return next_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(direction)];
  }
  static int opposite(int direction) { return kDirections - 1 - direction; }

 private:
  std::vector<std::array<int, kDirections>> next_;
};

// A record has words of 8 bytes: the particle's id, its phase, and a load that is drawn.
//
// At each step there is a window of phases; those in it move, to where their place in the window
// says. The next step's window begins where it ends.
class Motion {
 public:
  // `skewed`: in every second direction ten times as many go.
  Motion(std::uint64_t count, double percent, bool skewed);

  std::uint64_t count() const { return count_; }    // particles of a rank
  std::uint64_t moving() const { return moving_; }  // of them at each step
  // For those that come: as there is for more than there are, wrong ones are found by who looks.
  std::uint64_t room() const { return 2 * moving_; }
  // Going to each direction.
  const std::array<std::uint64_t, kDirections>& leaving() const { return leaving_; }
  // By place in the window.
  const std::vector<std::uint8_t>& directions() const { return directions_; }

  std::uint64_t phase(std::uint64_t index) const { return index * stride_ % count_; }
  std::uint64_t stride() const { return stride_; }
  // What is added to a phase, round the count of all, for its place in the window.
  std::uint64_t shift(std::uint64_t step) const {
    return (count_ - step % count_ * moving_ % count_) % count_;
  }

  // Where the particles of each index that are on `rank` come from, if the steps from `first` on
  // have been made.
  std::vector<std::uint32_t> homes(const Blocks& blocks, int rank, std::uint64_t first,
                                   std::uint64_t steps) const;

 private:
  std::uint64_t count_;
  std::uint64_t moving_;
  std::uint64_t
      stride_;  // from one index to the next, in phases; without common factors with count
  std::array<std::uint64_t, kDirections> leaving_{};
  std::vector<std::uint8_t> directions_;
};

inline constexpr std::uint64_t kWordId = 0;
inline constexpr std::uint64_t kWordPhase = 1;
inline constexpr std::uint64_t kWordLoad = 2;  // and all that follow
std::uint64_t load_word(std::uint64_t id, std::uint64_t word, std::uint64_t round);

// What a step needs of a rank's particles.
class Particles {
 public:
  using Counts = std::array<std::uint64_t, kDirections>;

  virtual ~Particles() = default;
  // Which of them leave at a step, and how many to each direction. If some are wrong and there are
  // too many, the others stay.
  virtual Counts find_leaving(std::uint64_t shift) = 0;
  // Those into out(), by direction in the given order; done when it returns.
  virtual void pack(const std::array<int, kDirections>& order) = 0;
  // So many that have come, out of in(), to where as many have left; done when it returns.
  virtual void unpack(std::uint64_t count) = 0;

  SlotBuffer& out() { return out_; }
  SlotBuffer& in() { return in_; }

  // All as they are before the first step of a round.
  virtual void set(int rank, std::uint64_t round) = 0;
  // All must be there once, come from where `homes` says. Else what the first wrong one is.
  struct Wrong {
    std::uint64_t place;
    std::uint64_t word;
    std::uint64_t expected;
    std::uint64_t got;
  };
  struct Look {
    std::optional<Wrong> wrong;
    std::uint64_t ids;  // their sum
  };
  virtual Look look(const std::vector<std::uint32_t>& homes, std::uint64_t round) = 0;

 protected:
  Particles(const CaseContext& context, const Motion& motion, std::uint64_t record_bytes)
      : motion_(motion),
        record_bytes_(record_bytes),
        out_(context.memory, motion.moving() * record_bytes, 1, context.offset),
        in_(context.memory, motion.room() * record_bytes, 1, context.offset) {}

  const Motion& motion_;
  const std::uint64_t record_bytes_;

 private:
  SlotBuffer out_;
  SlotBuffer in_;
};

// `count` records from that of `first` on, in memory that the CPU reaches.
void write_records(std::uint64_t* records, std::uint64_t first, std::uint64_t count,
                   const Motion& motion, std::uint64_t record_bytes, int rank, std::uint64_t round);

// Looks at all records, piece by piece.
class RecordChecker {
 public:
  RecordChecker(const Motion& motion, std::uint64_t record_bytes,
                const std::vector<std::uint32_t>& homes, std::uint64_t round)
      : motion_(motion),
        words_(record_bytes / sizeof(std::uint64_t)),
        homes_(homes),
        round_(round),
        seen_(motion.count()) {}
  void add(const std::uint64_t* records, std::uint64_t count);
  const Particles::Look& look() const { return look_; }

 private:
  void check(const std::uint64_t* record);
  void check(const std::uint64_t* record, std::uint64_t word, std::uint64_t expected);

  const Motion& motion_;
  const std::uint64_t words_;
  const std::vector<std::uint32_t>& homes_;
  const std::uint64_t round_;
  std::vector<bool> seen_;  // by index
  std::uint64_t place_ = 0;
  Particles::Look look_{std::nullopt, 0};
};

std::unique_ptr<Particles> on_host(const CaseContext& context, const Motion& motion,
                                   std::uint64_t record_bytes);
std::unique_ptr<Particles> on_device(const CaseContext& context, const Motion& motion,
                                     std::uint64_t record_bytes);

}  // namespace nearpeak::particles
