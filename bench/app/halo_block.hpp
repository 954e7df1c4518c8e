// SPDX-License-Identifier: Apache-2.0
// A block of cells on each rank of a periodic domain, with a halo: cells around it that are copies
// of what its neighbours have. Several fields have such cells each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "app/tiles.hpp"

namespace nearpeak {

// Along planes, rows and columns, in this order: the cells of a row lie one behind the other.
using Triple = std::array<std::int64_t, 3>;
inline constexpr std::array<std::size_t, 3> kDimensions{0, 1, 2};

inline std::int64_t product(const Triple& of) { return of[0] * of[1] * of[2]; }

// From a block to a neighbour: -1, 0 or 1 along each dimension.
using Direction = Triple;
inline Direction opposite(const Direction& way) { return {-way[0], -way[1], -way[2]}; }

struct Box {
  Triple first;  // of its cells; the block's first is at 0
  Triple count;
};

// What cells have: whole numbers that float has too, of which hardly two are the same. Cells of the
// halo that nobody sends stay as they were poisoned.
inline constexpr double kPoisonedCell = -0.5;
double halo_value(const Triple& place, std::int64_t field, std::uint64_t round);

struct HaloBlock {
  Triple cells;  // of the block
  Triple halo;   // around it, on either side; 0 along planes where there is but one
  std::int64_t fields;
  bool edges;    // neighbours are across edges and corners too, not across faces alone
  Triple grid;   // of blocks, one for each rank
  Triple block;  // this one

  // Of a rank.
  HaloBlock(const Triple& cells_of_block, std::int64_t radius, std::int64_t fields_of_cells,
            bool with_edges, const BlockGrid& blocks, int rank, bool plane);

  // An array of cells, field by field, with the halo of each.
  Triple padded() const;
  std::int64_t cells_of_field() const { return product(padded()); }
  std::int64_t cells_of_all() const { return fields * cells_of_field(); }
  // In the array of a field.
  std::int64_t at(const Triple& cell) const;

  // In ascending order: the opposite of the first is the last, and so on.
  std::vector<Direction> directions() const;
  int neighbour(const Direction& way) const;
  // What the neighbour there is sent, and where what it sends belongs.
  Box outgoing(const Direction& way) const;
  Box incoming(const Direction& way) const;

  // Whether no neighbour is sent the cell, and it is none of the halo.
  bool inside(const Triple& cell) const;
  // What a cell of the block or of its halo has after an exchange.
  double expected(const Triple& cell, std::int64_t field, std::uint64_t round) const;
  // Where a cell is in the whole domain.
  Triple place_of(const Triple& cell) const;
};

}  // namespace nearpeak
