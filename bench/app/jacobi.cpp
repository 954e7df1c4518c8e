// SPDX-License-Identifier: Apache-2.0
#include "app/jacobi.hpp"

#include <algorithm>
#include <vector>

#include "benchmark/check_memory.hpp"

namespace nearpeak {
namespace {

enum Phase : std::size_t { kCompute, kPack, kCommunicate, kUnpack, kNorm };

Grid grid_of(const CaseContext& context) {
  const int ranks = context.group.size();
  return context.axis("tiles") == "rows" ? Grid{ranks, 1} : near_square(ranks);
}

Domain domain_at(const CaseContext& context, std::size_t side) {
  const Grid grid = grid_of(context);
  if (context.axis("scaling") == "strong") return {side, side};
  return {side * static_cast<std::uint64_t>(grid.rows),
          side * static_cast<std::uint64_t>(grid.columns)};
}

// Throws Unfit on all ranks.
Tile own_tile(const CaseContext& context, std::size_t cell_bytes) {
  const Domain domain = domain_of(context);
  const Grid grid = grid_of(context);
  if (domain.rows < static_cast<std::uint64_t>(grid.rows) ||
      domain.columns < static_cast<std::uint64_t>(grid.columns))
    throw Unfit("there are fewer rows or columns of cells than of ranks");
  const auto tile_at = [&](std::size_t side) {
    const Domain at = domain_at(context, side);
    return tile_of(grid, context.group.rank(), at.rows, at.columns);
  };
  const bool strong = context.axis("scaling") == "strong";
  check_memory(
      context, strong ? static_cast<std::size_t>(std::max(grid.rows, grid.columns)) : 1,
      [&](std::size_t side) { return relaxation_bytes(tile_at(side), cell_bytes); }, "the cells");
  return tile_at(context.bytes);
}

}  // namespace

Domain domain_of(const CaseContext& context) { return domain_at(context, context.bytes); }

std::uint64_t norm_every(const CaseContext& context) {
  const std::string& text = context.axis("norm");
  return text == "never" ? 0 : std::stoull(text);
}

Iterations::Iterations(const CaseContext& context)
    : group_(context.group),
      type_(number_type(context.axis("type"))),
      tile_(own_tile(context, type_.bytes)),
      overlaps_(context.axis("overlap") == "yes"),
      on_device_(nearpeak::on_device(context.kind)),
      phases_({overlaps_ && on_device_ ? kExposedCompute : "compute", "pack", "communicate",
               "unpack", "norm"}) {
  on_every_rank(group_, [&] { relaxation_ = make_relaxation(context, tile_, type_.name); });
  std::vector<Link> links;
  for (const Side side : kSides)
    if (tile_.neighbours[side])
      links.push_back({*tile_.neighbours[side], &relaxation_->out(side), &relaxation_->in(side)});
  exchange_ = std::make_unique<Exchange>(context, links);
}

std::optional<double> Iterations::iterate(bool summed) {
  std::optional<double> sum;
  phases_.start();
  relaxation_->step(overlaps_ ? Cells::kEdges : Cells::kAll, summed);
  relaxation_->finish_first();
  phases_.lap(kCompute);
  relaxation_->pack();
  phases_.lap(kPack);
  exchange_->begin();
  phases_.lap(kCommunicate);
  if (overlaps_) relaxation_->compute_inside();
  phases_.lap(kCompute);
  exchange_->finish();
  phases_.lap(kCommunicate);
  relaxation_->unpack();
  phases_.lap(kUnpack);
  if (summed) {
    const double mine = relaxation_->sum();
    if (overlaps_) phases_.lap(kCompute);  // on a device it is of the cells inside, too
    sum = group_.total(mine);
  }
  phases_.lap(kNorm);
  relaxation_->turn();
  return sum;
}

void Iterations::finish() {
  phases_.start();
  relaxation_->finish();
  phases_.lap(kCompute);
}

}  // namespace nearpeak
