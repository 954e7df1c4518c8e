// SPDX-License-Identifier: Apache-2.0
#include "app/relaxation.hpp"

#include <algorithm>

#include "payload/numbers.hpp"

namespace nearpeak {

Field Field::plane(std::uint64_t rows, std::uint64_t columns, std::uint64_t exact) {
  // Four neighbours add up to less than `exact`.
  const auto most = static_cast<std::int64_t>(exact / 8 / (std::max(rows, columns) + 2));
  return {.rows = static_cast<std::int64_t>(rows),
          .columns = static_cast<std::int64_t>(columns),
          .round = 0,
          .down = std::clamp<std::int64_t>(most, 1, 64),
          .across = most > 3 ? 3 : 1};
}

FieldRows::FieldRows(const Field& field, std::int64_t row, std::int64_t column, std::uint64_t count)
    : field_(field),
      column_(column - static_cast<std::int64_t>(kBeyond)),
      width_(count + 2 * kBeyond),
      row_(row) {
  for (std::size_t i = 0; i < at_.size(); ++i)
    at_[i] = values_of(row_ - 2 + static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < once_.size(); ++i)
    once_[i] = relaxed(at_[i], at_[i + 1], at_[i + 2], row_ - 1 + static_cast<std::int64_t>(i));
  twice_ = relaxed(once_[0], once_[1], once_[2], row_);
}

void FieldRows::next() {
  ++row_;
  std::rotate(at_.begin(), at_.begin() + 1, at_.end());
  at_.back() = values_of(row_ + 2);
  std::rotate(once_.begin(), once_.begin() + 1, once_.end());
  once_.back() = relaxed(at_[2], at_[3], at_[4], row_ + 1);
  twice_ = relaxed(once_[0], once_[1], once_[2], row_);
}

FieldRows::Values FieldRows::values_of(std::int64_t row) const {
  Values values(width_);
  for (std::size_t i = 0; i < width_; ++i)
    values[i] = field_.at(row, column_ + static_cast<std::int64_t>(i));
  return values;
}

// But for the first and the last cell, for which there is too little.
FieldRows::Values FieldRows::relaxed(const Values& above, const Values& here, const Values& below,
                                     std::int64_t row) const {
  Values next = here;
  for (std::size_t i = 1; i + 1 < width_; ++i)
    if (!field_.outside(row, column_ + static_cast<std::int64_t>(i)))
      next[i] = 0.25 * (here[i - 1] + here[i + 1] + above[i] + below[i]);
  return next;
}

// Of rows that follow each other, and half of it of the two arrays, within a page. CPUs take an
// address for another one that is as far into its page: where rows of both arrays were so, steps
// took ten times as long on some (AMD, 4096 columns).
constexpr std::uint64_t kApartBytes = 768;

CellLayout::CellLayout(const Tile& tile, std::size_t cell_bytes) {
  const std::uint64_t line = 64 / cell_bytes;
  const std::uint64_t page = 4096 / cell_bytes;
  const std::uint64_t apart = kApartBytes / cell_bytes;
  pitch = (tile.columns + 2 + line - 1) / line * line;
  if (pitch > page) pitch = (pitch - apart + page - 1) / page * page + apart;
  origin = pitch + line;
  cells = (tile.rows + 2) * pitch + line;
}

std::uint64_t relaxation_bytes(const Tile& tile, std::size_t cell_bytes) {
  return 2 * CellLayout(tile, cell_bytes).cells * cell_bytes;
}

Line line_of(const Tile& tile, const CellLayout& layout, Side side, bool around) {
  const std::int64_t out = around ? 1 : 0;
  const auto last_row = static_cast<std::int64_t>(tile.rows) - 1 + out;
  const auto last_column = static_cast<std::int64_t>(tile.columns) - 1 + out;
  switch (side) {
    case kUp:
      return {layout.at(-out, 0), 1};
    case kDown:
      return {layout.at(last_row, 0), 1};
    case kLeft:
      return {layout.at(0, -out), layout.pitch};
    default:
      return {layout.at(0, last_column), layout.pitch};
  }
}

Relaxation::Relaxation(const CaseContext& context, const Tile& tile, std::size_t cell_bytes)
    : tile_(tile),
      layout_(tile, cell_bytes),
      cell_bytes_(cell_bytes),
      first_(context.memory, layout_.cells * cell_bytes, 1),
      second_(context.memory, layout_.cells * cell_bytes + kApartBytes / 2, 1),
      from_(first_.slot(0)),
      to_(second_.slot(0) + kApartBytes / 2) {
  for (const Side side : kSides) {
    if (!tile.neighbours[side]) continue;
    const std::size_t bytes = tile.length(side) * cell_bytes;
    out_[side].emplace(context.memory, bytes, 1, context.offset);
    in_[side].emplace(context.memory, bytes, 1, context.offset);
  }
}

void Relaxation::write(const std::function<double(std::int64_t row, std::int64_t column)>& value) {
  const std::int64_t columns = static_cast<std::int64_t>(tile_.columns);
  for (std::int64_t row = -1; row <= static_cast<std::int64_t>(tile_.rows); ++row) {
    std::vector<double> doubles;
    for (std::int64_t column = -1; column <= columns; ++column)
      doubles.push_back(value(row, column));
    const std::vector<float> floats(doubles.begin(), doubles.end());
    const void* const data =
        cell_bytes_ == sizeof(float) ? static_cast<const void*>(floats.data()) : doubles.data();
    for (char* const cells : {from_, to_})
      first_.memory().from_host(cells + layout_.at(row, -1) * cell_bytes_, data,
                                doubles.size() * cell_bytes_);
  }
}

std::vector<double> Relaxation::read(std::int64_t row) const {
  const char* const at = from_ + layout_.at(row, 0) * cell_bytes_;
  if (cell_bytes_ == sizeof(float)) {
    std::vector<float> floats(tile_.columns);
    first_.memory().to_host(floats.data(), at, floats.size() * sizeof(float));
    return {floats.begin(), floats.end()};
  }
  std::vector<double> doubles(tile_.columns);
  first_.memory().to_host(doubles.data(), at, doubles.size() * sizeof(double));
  return doubles;
}

std::unique_ptr<Relaxation> make_relaxation(const CaseContext& context, const Tile& tile,
                                            const std::string& type) {
  return on_device(context.kind) ? relaxation_on_device(context, tile, type)
                                 : relaxation_on_host(context, tile, type);
}

}  // namespace nearpeak
