// SPDX-License-Identifier: Apache-2.0
#include "app/tiles.hpp"

namespace nearpeak {
namespace {

// The first of `count` that the part `index` of `parts` has.
std::uint64_t first_of(std::uint64_t count, int index, int parts) {
  return count * static_cast<std::uint64_t>(index) / static_cast<std::uint64_t>(parts);
}

}  // namespace

Side opposite(Side side) {
  constexpr std::array kOthers{kDown, kUp, kRight, kLeft};
  return kOthers[side];
}

Grid near_square(int ranks) {
  int columns = 1;
  for (int i = 2; i * i <= ranks; ++i)
    if (ranks % i == 0) columns = i;
  return {.rows = ranks / columns, .columns = columns};
}

BlockGrid near_cube(int ranks) {
  BlockGrid best{.planes = ranks, .rows = 1, .columns = 1};
  const auto faces = [](const BlockGrid& grid) {
    return std::int64_t{1} * grid.planes * grid.rows + std::int64_t{1} * grid.rows * grid.columns +
           std::int64_t{1} * grid.planes * grid.columns;
  };
  for (int columns = 1; columns * columns <= ranks / columns; ++columns) {
    if (ranks % columns != 0) continue;
    const Grid rest = near_square(ranks / columns);
    const BlockGrid grid{.planes = rest.rows, .rows = rest.columns, .columns = columns};
    if (grid.rows >= columns && faces(grid) < faces(best)) best = grid;
  }
  return best;
}

Tile tile_of(const Grid& grid, int rank, std::uint64_t rows, std::uint64_t columns) {
  const int y = rank / grid.columns;
  const int x = rank % grid.columns;
  const std::uint64_t row = first_of(rows, y, grid.rows);
  const std::uint64_t column = first_of(columns, x, grid.columns);
  Tile tile{.row = static_cast<std::int64_t>(row),
            .column = static_cast<std::int64_t>(column),
            .rows = first_of(rows, y + 1, grid.rows) - row,
            .columns = first_of(columns, x + 1, grid.columns) - column,
            .neighbours = {}};
  if (y > 0) tile.neighbours[kUp] = rank - grid.columns;
  if (y + 1 < grid.rows) tile.neighbours[kDown] = rank + grid.columns;
  if (x > 0) tile.neighbours[kLeft] = rank - 1;
  if (x + 1 < grid.columns) tile.neighbours[kRight] = rank + 1;
  return tile;
}

}  // namespace nearpeak
