// SPDX-License-Identifier: Apache-2.0
// Iterations of Jacobi's method on a plane of cells, a tile of it on each rank: step, pack what
// neighbours need, exchange it, unpack, and the norm of all changes.
#pragma once

#include <memory>
#include <optional>

#include "app/exchange.hpp"
#include "app/relaxation.hpp"
#include "payload/numbers.hpp"

namespace nearpeak {

// Rows and columns of the domain.
struct Domain {
  std::uint64_t rows;
  std::uint64_t columns;
  double cells() const { return static_cast<double>(rows) * static_cast<double>(columns); }
};
// As the axes ask.
Domain domain_of(const CaseContext& context);

// After how many iterations the norm is taken; 0: never.
std::uint64_t norm_every(const CaseContext& context);

// Of this rank.
class Iterations {
 public:
  // Collective; throws Unfit on all ranks.
  explicit Iterations(const CaseContext& context);

  Group& group() const { return group_; }
  const Tile& tile() const { return tile_; }
  const NumberType& type() const { return type_; }
  Relaxation& cells() const { return *relaxation_; }
  bool on_device() const { return on_device_; }
  // Of those since clear().
  const Phases& phases() const { return phases_; }
  void clear() { phases_.clear(); }

  // One of them; where it is `summed`, the sum of the squares of all changes on all ranks.
  std::optional<double> iterate(bool summed);
  // What iterations have begun and not needed yet, as cells inside.
  void finish();

 private:
  Group& group_;
  const NumberType& type_;
  const Tile tile_;
  const bool overlaps_;
  const bool on_device_;
  std::unique_ptr<Relaxation> relaxation_;
  std::unique_ptr<Exchange> exchange_;
  Phases phases_;
};

// Solves the equation of Laplace, and prints how it goes: Benchmark::solve.
int solve_laplace(const CaseContext& context, const Solve& wanted);

}  // namespace nearpeak
