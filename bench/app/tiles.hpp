// SPDX-License-Identifier: Apache-2.0
// Cells, cut into one piece for each rank: rectangles of rows and columns, and blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace nearpeak {

enum Side : std::size_t { kUp, kDown, kLeft, kRight };
inline constexpr std::array kSides{kUp, kDown, kLeft, kRight};
Side opposite(Side side);

// So many rectangles in rows and columns.
struct Grid {
  int rows;
  int columns;
};
// As near to a square as `ranks` can be; where it cannot, more rows than columns: rows of cells lie
// in one piece.
Grid near_square(int ranks);

// So many blocks along planes, rows and columns.
struct BlockGrid {
  int planes;
  int rows;
  int columns;
};
// As near to a cube as `ranks` can be; where it cannot, more planes than rows, and more rows than
// columns.
BlockGrid near_cube(int ranks);

// What a mismatch tells of a cell: the low byte of its value, in `parts` of one.
inline unsigned cell_byte(double value, int parts) {
  return static_cast<unsigned>(static_cast<std::int64_t>(parts * value) & 0xFF);
}

// The cells of one rank.
struct Tile {
  std::int64_t row;     // of its first cell in the whole,
  std::int64_t column;  // likewise
  std::uint64_t rows;
  std::uint64_t columns;
  std::array<std::optional<int>, 4> neighbours;  // by side: the rank there

  std::uint64_t cells() const { return rows * columns; }
  bool alone() const {
    return std::none_of(neighbours.begin(), neighbours.end(),
                        [](const auto& neighbour) { return !!neighbour; });
  }
  // Cells along a side.
  std::uint64_t length(Side side) const { return side == kUp || side == kDown ? columns : rows; }
};

// Of a whole of so many rows and columns, at least as many as the grid has. Tiles differ by one row
// or column at most.
Tile tile_of(const Grid& grid, int rank, std::uint64_t rows, std::uint64_t columns);

}  // namespace nearpeak
