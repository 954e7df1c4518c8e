// SPDX-License-Identifier: Apache-2.0
#include "app/cosmo_fields.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/scrambled.hpp"

namespace nearpeak::cosmo {
namespace {

// Distinct for each kind of number.
enum Kind : std::uint32_t { kRow, kColumn, kPlane };

double drawn(std::uint64_t round, std::uint32_t set, Kind kind, std::uint64_t index) {
  const auto x = static_cast<std::uint32_t>(index) * 0x9E3779B1u + kind * 0x85EBCA77u +
                 set * 0x27D4EB2Fu + static_cast<std::uint32_t>(round) * 0xC2B2AE3Du;
  return static_cast<double>(scrambled(x) % 128);
}

// Those of a line that have three neighbours at each side, after one more update.
std::vector<double> updated(const std::vector<double>& line) {
  std::vector<double> values;
  for (std::size_t i = kHalo; i + kHalo < line.size(); ++i)
    values.push_back((18 * line[i] + 4 * (line[i - 1] + line[i + 1]) +
                      2 * (line[i - 2] + line[i + 2]) + (line[i - 3] + line[i + 3])) /
                     32);
  return values;
}

std::uint64_t message_cells(const Patch& patch) { return patch.planes() * patch.side * kHalo; }

}  // namespace

std::array<int, 4> Patch::neighbours() const {
  const int row = rank / grid.columns;
  const int column = rank % grid.columns;
  const auto at = [this](int y, int x) {
    return (y + grid.rows) % grid.rows * grid.columns + (x + grid.columns) % grid.columns;
  };
  std::array<int, 4> all{};
  all[kUp] = at(row - 1, column);
  all[kDown] = at(row + 1, column);
  all[kLeft] = at(row, column - 1);
  all[kRight] = at(row, column + 1);
  return all;
}

Layout::Layout(const Patch& patch) {
  constexpr std::uint64_t kLine = 64 / sizeof(double);
  pitch = (kLine + patch.side + kHalo + kLine - 1) / kLine * kLine;
  plane_pitch = (patch.side + 2 * kHalo) * pitch;
  origin = kHalo * pitch + kLine;
  cells = patch.planes() * plane_pitch;
}

Face face_of(const Patch& patch, const Layout& layout, Side side, bool around) {
  const std::uint64_t out = around ? kHalo : 0;
  const std::uint64_t last = patch.side - kHalo + out;
  switch (side) {
    case kUp:
      return {layout.origin - out * layout.pitch, kHalo, patch.side};
    case kDown:
      return {layout.origin + last * layout.pitch, kHalo, patch.side};
    case kLeft:
      return {layout.origin - out, patch.side, kHalo};
    default:
      return {layout.origin + last, patch.side, kHalo};
  }
}

Values values_of(const Patch& patch, std::size_t set, std::uint64_t round, int updates) {
  const auto number = static_cast<std::uint32_t>(set);
  const auto side = static_cast<std::int64_t>(patch.side);
  // Of the rows or columns of the rank at `position`, and of three more at each end.
  const auto line = [&](Kind kind, int position, int ranks) {
    const auto halo = static_cast<std::int64_t>(kHalo) * (1 + updates);
    const std::int64_t all = ranks * side;  // of the whole
    std::vector<double> values;
    for (std::int64_t i = position * side - halo; i < (position + 1) * side + halo; ++i)
      values.push_back(round == 0 ? 0.0
                                  : drawn(round, number, kind,
                                          static_cast<std::uint64_t>((i % all + all) % all)));
    for (int update = 0; update < updates; ++update) values = updated(values);
    return values;
  };
  Values values;
  values.rows = line(kRow, patch.rank / patch.grid.columns, patch.grid.rows);
  values.columns = line(kColumn, patch.rank % patch.grid.columns, patch.grid.columns);
  for (std::uint64_t plane = 0; plane < patch.planes(); ++plane)
    values.planes.push_back(drawn(round, round == 0 ? 0 : number, kPlane, plane));
  return values;
}

Fields::Fields(const CaseContext& context, const Patch& patch)
    : patch_(patch), layout_(patch), array_of_(patch.sets + 1), out_(patch.sets), in_(patch.sets) {
  std::iota(array_of_.begin(), array_of_.end(), std::size_t{0});
  const std::size_t bytes = message_cells(patch) * sizeof(double);
  for (std::size_t set = 0; set < patch.sets; ++set)
    for (const Side side : kSides) {
      out_[set][side].emplace(context.memory, bytes, 1, context.offset);
      in_[set][side].emplace(context.memory, bytes, 1, context.offset);
    }
}

void Fields::update(std::size_t set) {
  compute(array_of_.back(), array_of_[set]);
  std::swap(array_of_.back(), array_of_[set]);
}

void Fields::set(std::uint64_t round, bool given) {
  Values poisoned = values_of(patch_, 0, 0, 0);
  // Round 0 without messages needs cells around that stay right.
  if (round != 0) std::fill(poisoned.planes.begin(), poisoned.planes.end(), -0.5);
  write(array_of_.back(), poisoned, true);
  for (std::size_t set = 0; set < patch_.sets; ++set)
    write(array_of_[set], values_of(patch_, set, round, 0), given);
}

std::uint64_t bytes_of(const Patch& patch) {
  return sizeof(double) * ((patch.sets + 1) * Layout(patch).cells +
                           patch.sets * 2 * kSides.size() * message_cells(patch));
}

}  // namespace nearpeak::cosmo
