// SPDX-License-Identifier: Apache-2.0
// Jacobi's method on a plane of cells, a tile of it on each rank: step, pack what neighbours need,
// exchange it, unpack, and the norm of all changes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "app/exchange.hpp"
#include "app/relaxation.hpp"
#include "group/host_memory.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {
namespace {

enum Phase : std::size_t { kCompute, kPack, kCommunicate, kUnpack, kNorm, kPhases };

Grid grid_of(const CaseContext& context) {
  const int ranks = context.group.size();
  return context.axis("tiles") == "rows" ? Grid{ranks, 1} : near_square(ranks);
}

// Rows and columns of the whole.
struct Whole {
  std::uint64_t rows;
  std::uint64_t columns;
};
Whole whole_of(const CaseContext& context) {
  const Grid grid = grid_of(context);
  if (context.axis("scaling") == "strong") return {context.bytes, context.bytes};
  return {context.bytes * static_cast<std::uint64_t>(grid.rows),
          context.bytes * static_cast<std::uint64_t>(grid.columns)};
}

// Throws Unfit on all ranks.
Tile own_tile(const CaseContext& context, std::size_t cell_bytes) {
  const Whole whole = whole_of(context);
  const Grid grid = grid_of(context);
  if (whole.rows < static_cast<std::uint64_t>(grid.rows) ||
      whole.columns < static_cast<std::uint64_t>(grid.columns))
    throw Unfit("there are fewer rows or columns of cells than of ranks");
  const Tile tile = tile_of(grid, context.group.rank(), whole.rows, whole.columns);
  const auto all = context.group.gather(relaxation_bytes(tile, cell_bytes));
  const std::uint64_t most = *std::max_element(all.begin(), all.end());
  if (most > context.most_bytes)
    throw Unfit("the cells of a rank take " + bytes_text(most) + ": more than --memory-limit " +
                bytes_text(context.most_bytes));
  const std::string why =
      why_too_much(context.group, on_device(context.kind) ? 0 : relaxation_bytes(tile, cell_bytes));
  if (!why.empty()) throw Unfit(why);
  return tile;
}

class Jacobi final : public Case {
 public:
  explicit Jacobi(const CaseContext& context)
      : group_(context.group),
        type_(number_type(context.axis("type"))),
        tile_(own_tile(context, type_.bytes)),
        plane_(Field::plane(whole_of(context).rows, whole_of(context).columns, type_.exact)),
        cells_(static_cast<double>(whole_of(context).rows) *
               static_cast<double>(whole_of(context).columns)),
        overlaps_(context.axis("overlap") == "yes"),
        norm_every_(norm_every(context.axis("norm"))) {
    on_every_rank(group_, [&] { relaxation_ = make_relaxation(context, tile_, type_.name); });
    connect(context);
  }

  std::vector<std::string> phases() const override {
    return {"compute", "pack", "communicate", "unpack", "norm"};
  }
  const std::vector<double>& phases_ns() const override { return phases_ns_; }
  std::vector<double> values(const Times& times) const override {
    return {times.us, cells_ / times.us / 1e3};
  }

  void begin_round(std::uint64_t round, Part) override {
    field_ = plane_;
    field_.round = round;
    relaxation_->set(field_);
    iteration_ = 0;
    norm_ = -1;
  }

  void run(std::uint64_t n) override {
    std::fill(phases_ns_.begin(), phases_ns_.end(), 0.0);
    for (std::uint64_t i = 0; i < n; ++i) iterate();
    relaxation_->finish();
  }

  std::optional<Mismatch> wrong(std::uint64_t, Part) const override {
    if (const auto found = relaxation_->find_wrong(field_)) return mismatch(*found);
    if (norm_ < 0) return std::nullopt;
    const double expected = expected_norm();
    if (norm_ == expected) return std::nullopt;
    return Mismatch{
        .slot = 0, .byte = 0, .expected = first_byte(expected), .got = first_byte(norm_)};
  }

 private:
  static std::uint64_t norm_every(const std::string& text) {
    return text == "never" ? 0 : std::stoull(text);
  }

  void connect(const CaseContext& context) {
    std::vector<Link> links;
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        links.push_back({*tile_.neighbours[side], &relaxation_->out(side), &relaxation_->in(side)});
    exchange_ = std::make_unique<Exchange>(context, links);
  }

  void iterate() {
    const bool summed = norm_every_ != 0 && iteration_ % norm_every_ == 0;
    ++iteration_;
    mark_ = now_ns();
    relaxation_->step(overlaps_ ? Cells::kEdges : Cells::kAll, summed);
    relaxation_->finish();
    lap(kCompute);
    relaxation_->pack();
    lap(kPack);
    exchange_->begin();
    lap(kCommunicate);
    if (overlaps_) relaxation_->finish_inside();
    lap(kCompute);
    exchange_->finish();
    lap(kCommunicate);
    relaxation_->unpack();
    lap(kUnpack);
    if (summed) {
      const auto all = group_.gather(relaxation_->sum());
      norm_ = 0;
      for (const double sum : all) norm_ += sum;
      norm_ = std::sqrt(norm_);
    }
    lap(kNorm);
    relaxation_->turn();
  }

  void lap(Phase phase) {
    const std::int64_t now = now_ns();
    phases_ns_[phase] += static_cast<double>(now - mark_);
    mark_ = now;
  }

  // By the field, in the order of the ranks. Whole numbers and their quarters add up exactly.
  double expected_norm() const {
    if (field_.round == 0) return 0;
    double sum = 0;
    for (std::uint64_t row = 0; row < tile_.rows; ++row)
      for (std::uint64_t column = 0; column < tile_.columns; ++column) {
        const std::int64_t y = tile_.row + static_cast<std::int64_t>(row);
        const std::int64_t x = tile_.column + static_cast<std::int64_t>(column);
        const double change = field_.relaxed(y, x) - field_.at(y, x);
        sum += change * change;
      }
    double all = 0;
    for (const double one : group_.gather(sum)) all += one;
    return std::sqrt(all);
  }

  Mismatch mismatch(const Relaxation::Wrong& wrong) const {
    const std::int64_t cell = wrong.row * static_cast<std::int64_t>(tile_.columns) + wrong.column;
    return {.slot = 0,
            .byte = static_cast<std::size_t>(std::max<std::int64_t>(cell, 0)) * type_.bytes,
            .expected = first_byte(wrong.expected),
            .got = first_byte(wrong.got),
            .whole = tile_.cells() * type_.bytes};
  }
  static unsigned first_byte(double value) {
    return static_cast<unsigned>(static_cast<std::int64_t>(4 * value) & 0xFF);
  }

  Group& group_;
  const NumberType& type_;
  const Tile tile_;
  const Field plane_;
  const double cells_;  // of all ranks
  const bool overlaps_;
  const std::uint64_t norm_every_;
  std::unique_ptr<Relaxation> relaxation_;
  std::unique_ptr<Exchange> exchange_;
  std::vector<double> phases_ns_ = std::vector<double>(kPhases);
  std::int64_t mark_ = 0;
  std::uint64_t iteration_ = 0;
  double norm_ = -1;  // none yet
  Field field_;
};

const Register entry(Benchmark{
    .info =
        {.name = "jacobi2d",
         .summary = "time of an iteration of Jacobi's method on a plane of cells, a tile of "
                    "which is each rank's",
         .metrics = {{"jacobi2d", "us", "lower"}, {"jacobi2d_rate", "GLUP/s", "higher"}},
         .ranks = {.kind = RankRule::Kind::kAtLeast, .count = 1},
         .smallest = 1,
         .largest = 65536,
         .axes = {{"tiles", {"square", "rows"}, "near to square, or whole rows"},
                  {"scaling",
                   {"weak", "strong"},
                   "whether the size is the side of each rank's tile or of the whole"},
                  {"type", {"double", "float"}, "the type of the cells"},
                  {"overlap", {"no", "yes"}, "whether cells inside are computed meanwhile"},
                  {"norm", {"1", "100", "never"}, "after how many iterations the norm is taken"}},
         .x = {.name = "side", .unit = "cells"},
         .staged = true,
         .reduce = Reduce::kMaximum},
    .make = [](const CaseContext& context) -> std::unique_ptr<Case> {
      return std::make_unique<Jacobi>(context);
    }});

}  // namespace
}  // namespace nearpeak
