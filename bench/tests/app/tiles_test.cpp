// SPDX-License-Identifier: Apache-2.0
#include "app/tiles.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace nearpeak;

TEST_CASE("grids are near to squares, and rows come first") {
  const std::vector<std::pair<int, int>> rows_and_columns{{1, 1}, {2, 1}, {3, 1},  {2, 2},
                                                          {5, 1}, {3, 2}, {7, 1},  {4, 2},
                                                          {3, 3}, {5, 2}, {11, 1}, {4, 3}};
  for (int ranks = 1; ranks <= 12; ++ranks) {
    CAPTURE(ranks);
    const auto [rows, columns] = rows_and_columns[static_cast<std::size_t>(ranks - 1)];
    CHECK(near_square(ranks).rows == rows);
    CHECK(near_square(ranks).columns == columns);
  }
}

TEST_CASE("blocks are near to cubes, and planes come first") {
  const std::vector<std::array<int, 3>> grids{{1, 1, 1}, {2, 1, 1}, {3, 1, 1},  {2, 2, 1},
                                              {5, 1, 1}, {3, 2, 1}, {7, 1, 1},  {2, 2, 2},
                                              {3, 3, 1}, {5, 2, 1}, {11, 1, 1}, {3, 2, 2}};
  for (int ranks = 1; ranks <= 12; ++ranks) {
    CAPTURE(ranks);
    const BlockGrid grid = near_cube(ranks);
    CHECK(std::array{grid.planes, grid.rows, grid.columns} ==
          grids[static_cast<std::size_t>(ranks - 1)]);
  }
  CHECK(near_cube(64).columns == 4);
  CHECK(near_cube(96).planes == 6);
}

TEST_CASE("every cell is one rank's, and neighbours agree") {
  for (const Grid& grid : {Grid{1, 1}, Grid{3, 1}, Grid{2, 2}, Grid{3, 2}, Grid{4, 3}})
    for (const auto& [rows, columns] : {std::pair{4, 3}, {5, 7}, {64, 64}, {101, 33}}) {
      CAPTURE(grid.rows);
      CAPTURE(grid.columns);
      std::vector<int> owners(static_cast<std::size_t>(rows * columns));
      for (int rank = 0; rank < grid.rows * grid.columns; ++rank) {
        const Tile tile = tile_of(grid, rank, static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(columns));
        for (std::uint64_t row = 0; row < tile.rows; ++row)
          for (std::uint64_t column = 0; column < tile.columns; ++column)
            ++owners[(static_cast<std::uint64_t>(tile.row) + row) *
                         static_cast<std::uint64_t>(columns) +
                     static_cast<std::uint64_t>(tile.column) + column];
        CHECK(tile.neighbours[kUp].has_value() == (tile.row > 0));
        CHECK(tile.neighbours[kLeft].has_value() == (tile.column > 0));
        CHECK(tile.neighbours[kDown].has_value() == (rank / grid.columns + 1 < grid.rows));
        CHECK(tile.neighbours[kRight].has_value() == (rank % grid.columns + 1 < grid.columns));
        for (const Side side : kSides) {
          if (!tile.neighbours[side]) continue;
          const Tile other = tile_of(grid, *tile.neighbours[side], static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns));
          CHECK(other.neighbours[opposite(side)] == rank);
          CHECK(other.length(opposite(side)) == tile.length(side));
        }
      }
      for (const int times : owners) CHECK(times == 1);
    }
}
