// SPDX-License-Identifier: Apache-2.0
#include "app/halo_block.hpp"

#include <algorithm>

#include "app/scrambled.hpp"

namespace nearpeak {

double halo_value(const Triple& place, std::int64_t field, std::uint64_t round) {
  const auto x = static_cast<std::uint32_t>(place[0]) * 0x9E3779B1u +
                 static_cast<std::uint32_t>(place[1]) * 0x85EBCA77u +
                 static_cast<std::uint32_t>(place[2]) * 0xC2B2AE3Du +
                 static_cast<std::uint32_t>(field) * 0x27D4EB2Fu +
                 static_cast<std::uint32_t>(round) * 0x165667B1u;
  return static_cast<double>(scrambled(x) >> 9);
}

HaloBlock::HaloBlock(const Triple& cells_of_block, std::int64_t radius,
                     std::int64_t fields_of_cells, bool with_edges, const BlockGrid& blocks,
                     int rank, bool plane)
    : cells(cells_of_block),
      halo{plane ? 0 : radius, radius, radius},
      fields(fields_of_cells),
      edges(with_edges),
      grid{blocks.planes, blocks.rows, blocks.columns},
      block{rank / (blocks.rows * blocks.columns), rank / blocks.columns % blocks.rows,
            rank % blocks.columns} {}

Triple HaloBlock::padded() const {
  Triple all;
  for (const std::size_t i : kDimensions) all[i] = cells[i] + 2 * halo[i];
  return all;
}

std::int64_t HaloBlock::at(const Triple& cell) const {
  const Triple all = padded();
  return ((cell[0] + halo[0]) * all[1] + cell[1] + halo[1]) * all[2] + cell[2] + halo[2];
}

std::vector<Direction> HaloBlock::directions() const {
  std::vector<Direction> ways;
  for (std::int64_t i = 0; i < 27; ++i) {
    const Direction way{i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
    const auto along = 3 - std::count(way.begin(), way.end(), 0);
    if (along == 0 || (along > 1 && !edges) || (way[0] != 0 && halo[0] == 0)) continue;
    ways.push_back(way);
  }
  return ways;
}

int HaloBlock::neighbour(const Direction& way) const {
  std::int64_t rank = 0;
  for (const std::size_t i : kDimensions)
    rank = rank * grid[i] + (block[i] + way[i] + grid[i]) % grid[i];
  return static_cast<int>(rank);
}

Box HaloBlock::outgoing(const Direction& way) const {
  Box box{};
  for (const std::size_t i : kDimensions) {
    box.first[i] = way[i] == 1 ? cells[i] - halo[i] : 0;
    box.count[i] = way[i] == 0 ? cells[i] : halo[i];
  }
  return box;
}

Box HaloBlock::incoming(const Direction& way) const {
  Box box{};
  for (const std::size_t i : kDimensions) {
    box.first[i] = way[i] == 0 ? 0 : way[i] == 1 ? cells[i] : -halo[i];
    box.count[i] = way[i] == 0 ? cells[i] : halo[i];
  }
  return box;
}

bool HaloBlock::inside(const Triple& cell) const {
  return std::all_of(kDimensions.begin(), kDimensions.end(), [&](std::size_t i) {
    return cell[i] >= halo[i] && cell[i] < cells[i] - halo[i];
  });
}

Triple HaloBlock::place_of(const Triple& cell) const {
  Triple place;
  for (const std::size_t i : kDimensions) {
    const std::int64_t all = grid[i] * cells[i];
    place[i] = (block[i] * cells[i] + cell[i] + all) % all;
  }
  return place;
}

double HaloBlock::expected(const Triple& cell, std::int64_t field, std::uint64_t round) const {
  const auto outside = std::count_if(kDimensions.begin(), kDimensions.end(), [&](std::size_t i) {
    return cell[i] < 0 || cell[i] >= cells[i];
  });
  if (outside > 1 && !edges) return kPoisonedCell;
  return halo_value(place_of(cell), field, round);
}

}  // namespace nearpeak
