// SPDX-License-Identifier: Apache-2.0
// Jacobi's method on a plane of cells, of which each rank has a tile.
#include <algorithm>

#include "app/jacobi.hpp"

namespace nearpeak {
namespace {

// Of a sample of iterations between which nobody waits: about a hundred times what it takes to wait
// for an H200 at last.
constexpr double kUnwaitedNs = 1e6;

class Jacobi final : public Case {
 public:
  explicit Jacobi(const CaseContext& context)
      : domain_(domain_of(context)),
        norm_every_(norm_every(context)),
        iterations_(context),
        plane_(Field::plane(domain_.rows, domain_.columns, iterations_.type().exact)) {}

  const Phases& phases() const override { return iterations_.phases(); }
  std::optional<Work> work() const override {
    const Tile& tile = iterations_.tile();
    Work work{.copied_bytes = tile.rows * tile.columns * iterations_.type().bytes};
    for (const Side side : kSides)
      if (tile.neighbours[side])
        work.messages.push_back(tile.length(side) * iterations_.type().bytes);
    return work;
  }
  std::vector<double> values(const Times& times) const override {
    return {times.us, domain_.cells() / times.us / 1e3};
  }

  std::size_t round_bytes() const override {
    return relaxation_bytes(iterations_.tile(), iterations_.type().bytes);
  }

  // A device goes from one iteration into the next where no neighbour and no norm needs its cells.
  double least_sample_ns() const override {
    return iterations_.on_device() && iterations_.tile().alone() && norm_every_ != 1 ? kUnwaitedNs
                                                                                     : 0;
  }

  void begin_round(std::uint64_t round, Part) override {
    field_ = plane_;
    field_.round = round;
    iterations_.cells().set(field_);
    done_ = 0;
    sum_.reset();
  }

  void run(std::uint64_t n) override {
    iterations_.clear();
    for (std::uint64_t i = 0; i < n; ++i) {
      const bool summed = norm_every_ != 0 && done_++ % norm_every_ == 0;
      if (const auto sum = iterations_.iterate(summed)) {
        sum_ = sum;
        summed_step_ = done_;
      }
    }
    iterations_.finish();
  }
  // Whether a step reads what neighbours sent after the one before, only a second one shows.
  void run_round(std::uint64_t) override { run(2); }

  std::optional<Mismatch> wrong(std::uint64_t, Part) const override {
    const auto found = iterations_.cells().find_wrong(field_);
    const double expected = sum_ ? expected_sum() : 0;
    if (found) return mismatch(*found);
    if (!sum_ || *sum_ == expected) return std::nullopt;
    return Mismatch{
        .slot = 0, .byte = 0, .expected = cell_byte(expected, 16), .got = cell_byte(*sum_, 16)};
  }

 private:
  // Few bits after the point, which add up exactly. Collective.
  double expected_sum() const {
    if (field_.round == 0) return 0;
    return iterations_.group().total(iterations_.cells().expected_sum(field_, summed_step_));
  }

  Mismatch mismatch(const Relaxation::Wrong& wrong) const {
    const Tile& tile = iterations_.tile();
    const std::size_t bytes = iterations_.type().bytes;
    const std::int64_t cell = wrong.row * static_cast<std::int64_t>(tile.columns) + wrong.column;
    return {.slot = 0,
            .byte = static_cast<std::size_t>(std::max<std::int64_t>(cell, 0)) * bytes,
            .expected = cell_byte(wrong.expected, 16),
            .got = cell_byte(wrong.got, 16),
            .whole = tile.cells() * bytes};
  }
  const Domain domain_;
  const std::uint64_t norm_every_;
  Iterations iterations_;
  const Field plane_;
  Field field_;
  std::uint64_t done_ = 0;
  std::optional<double> sum_;      // the last one
  std::uint64_t summed_step_ = 0;  // that it is of; 1 is the first
};

const Register entry(Benchmark{
    .info =
        {.name = "jacobi2d",
         .summary = "time of an iteration of Jacobi's method on a plane of cells, of which each "
                    "rank has a tile",
         .metrics = {{"jacobi2d", "us", "lower"}, {"jacobi2d_rate", "GLUP/s", "higher"}},
         .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 1},
         .smallest = 1,
         .largest = 65536,
         .axes = {{"tiles", {"square", "rows"}, "square: nearly square; rows: whole rows"},
                  {"scaling",
                   {"weak", "strong"},
                   "the size is the side of; weak: each rank's tile; strong: the whole plane"},
                  {"type", {"double", "float"}, "the type of the cells"},
                  {"overlap",
                   {"no", "yes"},
                   "yes: inner cells are computed while messages are on their way"},
                  {"norm", {"1", "100", "never"}, "after how many iterations the norm is taken"}},
         .x = {.name = "side", .unit = "cells", .usual = {1024, 4096}},
         .staged = true,
         .reduce = Reduce::kMaximum},
    .make = [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<Jacobi>(context);
    },
    .solve = solve_laplace});

}  // namespace
}  // namespace nearpeak
