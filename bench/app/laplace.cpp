// SPDX-License-Identifier: Apache-2.0
// The equation of Laplace by Jacobi's method, beside what is known in closed form.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "app/jacobi.hpp"
#include "sampling/clock.hpp"

namespace nearpeak {
namespace {

// The equation of Laplace on a rectangle, 0 above and below, half a sine at the left and the right:
// what the cells must come to, as the method has them, is known in closed form.
class Laplace {
 public:
  explicit Laplace(const Domain& domain)
      : step_(std::numbers::pi / static_cast<double>(domain.rows + 1)),
        rate_(std::acosh(2 - std::cos(step_))),
        middle_((static_cast<double>(domain.columns) - 1) / 2) {}

  // Of a cell of the domain; -1 is beside it.
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
  Distance(const Domain& domain, const NumberType& type)
      : lost_(part(domain.rows) + part(domain.columns)),
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
Errors errors_of(const Iterations& iterations, const Laplace& exact, const Domain& domain) {
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
  return {std::sqrt(iterations.group().total(squares) / domain.cells()),
          iterations.group().largest(most)};
}

// Some points of the solution, each the value of one cell. Collective; throws std::runtime_error.
void write_solution(const Iterations& iterations, const Domain& domain, const std::string& name) {
  const Tile& tile = iterations.tile();
  const std::uint64_t longest = std::max(domain.rows, domain.columns);
  const std::uint64_t step = (longest + kMostPoints - 1) / kMostPoints;
  nlohmann::ordered_json out{{"schema", 1},
                             {"rows", domain.rows},
                             {"columns", domain.columns},
                             {"step", step},
                             {"values", nlohmann::ordered_json::array()}};
  for (std::uint64_t row = 0; row < domain.rows; row += step) {
    std::vector<double> mine((domain.columns + step - 1) / step, 0.0);
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

}  // namespace

int solve_laplace(const CaseContext& context, const Solve& wanted) {
  const Domain domain = domain_of(context);
  const Laplace exact(domain);
  Iterations iterations(context);
  const Tile& tile = iterations.tile();
  const auto last_row = static_cast<std::int64_t>(domain.rows);
  const auto last_column = static_cast<std::int64_t>(domain.columns);
  iterations.cells().write([&](std::int64_t row, std::int64_t column) {
    const std::int64_t y = tile.row + row;
    const std::int64_t x = tile.column + column;
    const bool side = (x < 0 || x >= last_column) && y >= 0 && y < last_row;
    return side ? exact.at(y, x) : 0.0;
  });
  const bool leads = context.group.leads();
  if (leads)
    std::printf("# Laplace's equation on %llu x %llu cells, %s, by %d ranks\n# %-14s %14s %14s\n",
                static_cast<unsigned long long>(domain.rows),
                static_cast<unsigned long long>(domain.columns), context.axis("type").c_str(),
                context.group.size(), "Iteration", "Residue", "Distance");
  const std::uint64_t every = norm_every(context) == 1 ? 1 : kToldEvery;
  const std::int64_t begin = now_ns();
  const Distance distance(domain, iterations.type());
  double residue = 0;
  double least = std::numeric_limits<double>::infinity();  // residue
  std::uint64_t done = 0;
  std::uint64_t fell = 0;  // the iteration of that one
  bool solved = false;
  bool stands = false;  // it comes no nearer: what is left is rounding
  do {
    // The same on all ranks, who add up the same numbers in the same order.
    if (const auto sum = iterations.iterate(done % every == 0)) {
      residue = std::sqrt(*sum / domain.cells());
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
  const Errors errors = errors_of(iterations, exact, domain);
  if (!wanted.solution.empty()) write_solution(iterations, domain, wanted.solution);
  if (leads) {
    std::printf(
        "# %s after %llu iterations: residue %.6e, distance %.3e at most\n"
        "# error %.3e, of a cell %.3e at most; %.3f s, %.4g GLUP/s\n",
        solved ? "solved" : "NOT SOLVED", static_cast<unsigned long long>(done), residue,
        distance.of(residue), errors.mean, errors.largest, seconds,
        domain.cells() * static_cast<double>(done) / seconds / 1e9);
    if (stands && !solved)
      std::printf("# it comes no nearer, as cells are rounded: give a larger tolerance%s\n",
                  iterations.type().name == "float" ? " or --type double" : "");
  }
  return solved ? kGood : kFailed;
}

}  // namespace nearpeak
