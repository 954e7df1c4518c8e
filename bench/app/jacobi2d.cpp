// SPDX-License-Identifier: Apache-2.0
// Jacobi's method on a plane of cells, a tile of it on each rank: step, pack what neighbours need,
// exchange it, unpack, and the norm of all changes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "app/exchange.hpp"
#include "app/phase_clock.hpp"
#include "app/relaxation.hpp"
#include "benchmark/check_memory.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {
namespace {

// Of a sample of iterations between which nobody waits: about a hundred times what it takes to wait
// for an H200 at last.
constexpr double kUnwaitedNs = 1e6;

enum Phase : std::size_t { kCompute, kPack, kCommunicate, kUnpack, kNorm };

Grid grid_of(const CaseContext& context) {
  const int ranks = context.group.size();
  return context.axis("tiles") == "rows" ? Grid{ranks, 1} : near_square(ranks);
}

// Rows and columns of the whole.
struct Whole {
  std::uint64_t rows;
  std::uint64_t columns;
  double cells() const { return static_cast<double>(rows) * static_cast<double>(columns); }
};
Whole whole_of(const CaseContext& context, std::size_t side) {
  const Grid grid = grid_of(context);
  if (context.axis("scaling") == "strong") return {side, side};
  return {side * static_cast<std::uint64_t>(grid.rows),
          side * static_cast<std::uint64_t>(grid.columns)};
}
Whole whole_of(const CaseContext& context) { return whole_of(context, context.bytes); }

// After how many iterations the norm is taken; 0: never.
std::uint64_t norm_every(const CaseContext& context) {
  const std::string& text = context.axis("norm");
  return text == "never" ? 0 : std::stoull(text);
}

// Throws Unfit on all ranks.
Tile own_tile(const CaseContext& context, std::size_t cell_bytes) {
  const Whole whole = whole_of(context);
  const Grid grid = grid_of(context);
  if (whole.rows < static_cast<std::uint64_t>(grid.rows) ||
      whole.columns < static_cast<std::uint64_t>(grid.columns))
    throw Unfit("there are fewer rows or columns of cells than of ranks");
  const auto tile_at = [&](std::size_t side) {
    const Whole at = whole_of(context, side);
    return tile_of(grid, context.group.rank(), at.rows, at.columns);
  };
  const bool strong = context.axis("scaling") == "strong";
  check_memory(context, "the cells",
               strong ? static_cast<std::size_t>(std::max(grid.rows, grid.columns)) : 1,
               [&](std::size_t side) { return relaxation_bytes(tile_at(side), cell_bytes); });
  return tile_at(context.bytes);
}

// Its iterations on this rank.
class Iterations {
 public:
  // Collective; throws Unfit on all ranks.
  explicit Iterations(const CaseContext& context)
      : group_(context.group),
        type_(number_type(context.axis("type"))),
        tile_(own_tile(context, type_.bytes)),
        overlaps_(context.axis("overlap") == "yes"),
        on_device_(nearpeak::on_device(context.kind)),
        clock_({overlaps_ && on_device_ ? kExposedCompute : "compute", "pack", "communicate",
                "unpack", "norm"}) {
    on_every_rank(group_, [&] { relaxation_ = make_relaxation(context, tile_, type_.name); });
    std::vector<Link> links;
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        links.push_back({*tile_.neighbours[side], &relaxation_->out(side), &relaxation_->in(side)});
    exchange_ = std::make_unique<Exchange>(context, links);
  }

  Group& group() const { return group_; }
  const Tile& tile() const { return tile_; }
  const NumberType& type() const { return type_; }
  Relaxation& cells() const { return *relaxation_; }
  bool on_device() const { return on_device_; }
  const PhaseClock& clock() const { return clock_; }
  void clear() { clock_.clear(); }

  // One of them; where it is `summed`, the sum of the squares of all changes on all ranks.
  std::optional<double> iterate(bool summed) {
    std::optional<double> sum;
    clock_.start();
    relaxation_->step(overlaps_ ? Cells::kEdges : Cells::kAll, summed);
    relaxation_->finish_first();
    clock_.lap(kCompute);
    relaxation_->pack();
    clock_.lap(kPack);
    exchange_->begin();
    clock_.lap(kCommunicate);
    if (overlaps_) relaxation_->compute_inside();
    clock_.lap(kCompute);
    exchange_->finish();
    clock_.lap(kCommunicate);
    relaxation_->unpack();
    clock_.lap(kUnpack);
    if (summed) {
      const double mine = relaxation_->sum();
      if (overlaps_) clock_.lap(kCompute);  // on a device it is of the cells inside, too
      sum = group_.total(mine);
    }
    clock_.lap(kNorm);
    relaxation_->turn();
    return sum;
  }

  // What iterations have begun and not needed yet, as cells inside.
  void finish() {
    clock_.start();
    relaxation_->finish();
    clock_.lap(kCompute);
  }

 private:
  Group& group_;
  const NumberType& type_;
  const Tile tile_;
  const bool overlaps_;
  const bool on_device_;
  std::unique_ptr<Relaxation> relaxation_;
  std::unique_ptr<Exchange> exchange_;
  PhaseClock clock_;
};

class Jacobi final : public Case {
 public:
  explicit Jacobi(const CaseContext& context)
      : whole_(whole_of(context)),
        norm_every_(norm_every(context)),
        iterations_(context),
        plane_(Field::plane(whole_.rows, whole_.columns, iterations_.type().exact)) {}

  std::vector<std::string> phases() const override { return iterations_.clock().names(); }
  const std::vector<double>& phases_ns() const override { return iterations_.clock().ns(); }
  std::optional<Work> work() const override {
    const Tile& tile = iterations_.tile();
    Work work{.copied_bytes = tile.rows * tile.columns * iterations_.type().bytes};
    for (const Side side : kSides)
      if (tile.neighbours[side])
        work.messages.push_back(tile.length(side) * iterations_.type().bytes);
    return work;
  }
  std::vector<double> values(const Times& times) const override {
    return {times.us, whole_.cells() / times.us / 1e3};
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
    // Whether a step reads what neighbours sent after the one before, only a second one shows.
    if (field_.round != 0) n = 2;
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

  std::optional<Mismatch> wrong(std::uint64_t, Part) const override {
    const auto found = iterations_.cells().find_wrong(field_);
    const double expected = sum_ ? expected_sum() : 0;
    if (found) return mismatch(*found);
    if (!sum_ || *sum_ == expected) return std::nullopt;
    return Mismatch{
        .slot = 0, .byte = 0, .expected = first_byte(expected), .got = first_byte(*sum_)};
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
            .expected = first_byte(wrong.expected),
            .got = first_byte(wrong.got),
            .whole = tile.cells() * bytes};
  }
  static unsigned first_byte(double value) {
    return static_cast<unsigned>(static_cast<std::int64_t>(16 * value) & 0xFF);
  }

  const Whole whole_;
  const std::uint64_t norm_every_;
  Iterations iterations_;
  const Field plane_;
  Field field_;
  std::uint64_t done_ = 0;
  std::optional<double> sum_;      // the last one
  std::uint64_t summed_step_ = 0;  // that it is of; 1 is the first
};

// The equation of Laplace on a rectangle, 0 above and below, half a sine at the left and the right:
// what the cells must come to, as the method has them, is known in closed form.
class Laplace {
 public:
  explicit Laplace(const Whole& whole)
      : step_(std::numbers::pi / static_cast<double>(whole.rows + 1)),
        rate_(std::acosh(2 - std::cos(step_))),
        middle_((static_cast<double>(whole.columns) - 1) / 2) {}

  // Of a cell of the whole; -1 is beside it.
  double at(std::int64_t row, std::int64_t column) const {
    const double from_middle = std::abs(static_cast<double>(column) - middle_);
    // cosh(a) / cosh(b) of what may be large
    const double edge = middle_ + 1;
    const double share = std::exp(rate_ * (from_middle - edge)) *
                         (1 + std::exp(-2 * rate_ * from_middle)) /
                         (1 + std::exp(-2 * rate_ * edge));
    return std::sin(step_ * static_cast<double>(row + 1)) * share;
  }

 private:
  const double step_;
  const double rate_;
  const double middle_;
};

constexpr std::uint64_t kToldEvery = 100;    // iterations, and from the thousandth on
constexpr std::uint64_t kThenEvery = 1000;   // so many
constexpr std::uint64_t kMostInVain = 1000;  // iterations without a smaller residue
constexpr std::uint64_t kMostPoints = 256;   // of a side, in a file

// How far the cells are from what they must come to, at most, by how much an iteration changes
// them: both as roots of mean squares.
//
// An iteration takes the error e to M e, where M is the mean of neighbours. Its eigenvectors are
// products of sines, its eigenvalues within +-rho, the mean of the cosines of pi / (rows + 1) and
// pi / (columns + 1), so that |e| <= |e - M e| / (1 - rho). What an iteration rounds stays in the
// cells just so: no more than an epsilon, as values are 1 at most.
class Distance {
 public:
  Distance(const Whole& whole, const NumberType& type)
      : lost_(part(whole.rows) + part(whole.columns)),
        rounded_(2 / static_cast<double>(type.exact)) {}
  double of(double residue) const { return (residue + rounded_) / lost_; }

 private:
  // (1 - cos(x)) / 2, not as a small difference
  static double part(std::uint64_t cells) {
    const double sine = std::sin(std::numbers::pi / 2 / static_cast<double>(cells + 1));
    return sine * sine;
  }
  const double lost_;  // 1 - rho
  const double rounded_;
};

struct Errors {
  double mean;     // the root of the mean square
  double largest;  // of any cell
};

// The differences from the closed form, of all ranks. Collective.
Errors errors_of(const Iterations& iterations, const Laplace& exact, const Whole& whole) {
  const Tile& tile = iterations.tile();
  double most = 0;
  double squares = 0;
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(tile.rows); ++row) {
    const auto values = iterations.cells().read(row);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error =
          std::abs(values[i] - exact.at(tile.row + row, tile.column + static_cast<int>(i)));
      most = std::max(most, error);
      squares += error * error;
    }
  }
  return {std::sqrt(iterations.group().total(squares) / whole.cells()),
          iterations.group().largest(most)};
}

// Some points of the solution, each the value of one cell. Collective; throws std::runtime_error.
void write_solution(const Iterations& iterations, const Whole& whole, const std::string& name) {
  const Tile& tile = iterations.tile();
  const std::uint64_t longest = std::max(whole.rows, whole.columns);
  const std::uint64_t step = (longest + kMostPoints - 1) / kMostPoints;
  nlohmann::ordered_json out{{"schema", 1},
                             {"rows", whole.rows},
                             {"columns", whole.columns},
                             {"step", step},
                             {"values", nlohmann::ordered_json::array()}};
  for (std::uint64_t row = 0; row < whole.rows; row += step) {
    std::vector<double> mine((whole.columns + step - 1) / step, 0.0);
    const std::int64_t here = static_cast<std::int64_t>(row) - tile.row;
    if (here >= 0 && here < static_cast<std::int64_t>(tile.rows)) {
      const auto values = iterations.cells().read(here);
      const auto first = static_cast<std::uint64_t>(tile.column);
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (i * step >= first && i * step < first + values.size())
          mine[i] = values[i * step - first];
    }
    std::vector<double> whole_row(mine.size(), 0.0);
    const auto all = iterations.group().gather(mine);
    for (std::size_t i = 0; i < all.size(); ++i) whole_row[i % mine.size()] += all[i];
    out["values"].push_back(whole_row);
  }
  if (!iterations.group().leads()) return;
  std::ofstream file(name);
  file << out.dump() << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + name);
}

int solve(const CaseContext& context, const Solve& wanted) {
  const Whole whole = whole_of(context);
  const Laplace exact(whole);
  Iterations iterations(context);
  const Tile& tile = iterations.tile();
  const auto last_row = static_cast<std::int64_t>(whole.rows);
  const auto last_column = static_cast<std::int64_t>(whole.columns);
  iterations.cells().write([&](std::int64_t row, std::int64_t column) {
    const std::int64_t y = tile.row + row;
    const std::int64_t x = tile.column + column;
    const bool side = (x < 0 || x >= last_column) && y >= 0 && y < last_row;
    return side ? exact.at(y, x) : 0.0;
  });
  const bool leads = context.group.leads();
  if (leads)
    std::printf("# Laplace's equation on %llu x %llu cells, %s, by %d ranks\n# %-14s %14s %14s\n",
                static_cast<unsigned long long>(whole.rows),
                static_cast<unsigned long long>(whole.columns), context.axis("type").c_str(),
                context.group.size(), "Iteration", "Residue", "Distance");
  const std::uint64_t every = norm_every(context) == 1 ? 1 : kToldEvery;
  const std::int64_t begin = now_ns();
  const Distance distance(whole, iterations.type());
  double residue = 0;
  double least = std::numeric_limits<double>::infinity();  // residue
  std::uint64_t done = 0;
  std::uint64_t fell = 0;  // the iteration of that one
  bool solved = false;
  bool stands = false;  // it comes no nearer: what is left is rounding
  do {
    // The same on all ranks, who add up the same numbers in the same order.
    if (const auto sum = iterations.iterate(done % every == 0)) {
      residue = std::sqrt(*sum / whole.cells());
      if (residue < least) {
        least = residue;
        fell = done;
      }
      solved = distance.of(residue) <= wanted.tolerance;
      stands = residue == 0 || done - fell >= kMostInVain;
    }
    if (leads && done % (done < kThenEvery ? kToldEvery : kThenEvery) == 0) {
      std::printf("%-16llu %14.6e %14.6e\n", static_cast<unsigned long long>(done), residue,
                  distance.of(residue));
      std::fflush(stdout);
    }
    ++done;
  } while (!solved && !stands && done < wanted.most);
  iterations.finish();
  const double seconds = static_cast<double>(now_ns() - begin) / 1e9;
  const Errors errors = errors_of(iterations, exact, whole);
  if (!wanted.solution.empty()) write_solution(iterations, whole, wanted.solution);
  if (leads) {
    std::printf(
        "# %s after %llu iterations: residue %.6e, distance %.3e at most\n"
        "# error %.3e, of a cell %.3e at most; %.3f s, %.4g GLUP/s\n",
        solved ? "solved" : "NOT SOLVED", static_cast<unsigned long long>(done), residue,
        distance.of(residue), errors.mean, errors.largest, seconds,
        whole.cells() * static_cast<double>(done) / seconds / 1e9);
    if (stands && !solved)
      std::printf("# it comes no nearer, as cells are rounded: give a larger tolerance%s\n",
                  iterations.type().name == "float" ? " or --type double" : "");
  }
  return solved ? kGood : kFailed;
}

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
    .solve = solve});

}  // namespace
}  // namespace nearpeak
