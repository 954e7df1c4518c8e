// SPDX-License-Identifier: Apache-2.0
// One step of Jacobi's method on the cells of a tile: each becomes the mean of its four neighbours.
// On the CPU and on devices it is the same arithmetic, so that all results are the same.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/scrambled.hpp"
#include "app/tiles.hpp"
#include "benchmark/benchmark.hpp"

namespace nearpeak {

// What cells begin with: whole numbers, so that the arithmetic is exact. Round 0 has a plane, which
// stays as it is; the others have numbers that look drawn. Outside the whole they are held.
struct Field {
  std::int64_t rows = 0;  // of the whole
  std::int64_t columns = 0;
  std::uint64_t round = 0;
  std::int64_t down = 0;  // the plane: down * row + across * column
  std::int64_t across = 0;

  // Of a whole of so many rows and columns, exact in a type that has all whole numbers to `exact`.
  static Field plane(std::uint64_t rows, std::uint64_t columns, std::uint64_t exact);
  bool outside(std::int64_t row, std::int64_t column) const {
    return row < 0 || row >= rows || column < 0 || column >= columns;
  }
  double at(std::int64_t row, std::int64_t column) const;
};

inline double Field::at(std::int64_t row, std::int64_t column) const {
  if (round == 0) return static_cast<double>(down * row + across * column);
  const auto x = static_cast<std::uint32_t>(row) * 0x9E3779B1u +
                 static_cast<std::uint32_t>(column) * 0x85EBCA77u +
                 static_cast<std::uint32_t>(round) * 0xC2B2AE3Du;
  return static_cast<double>(scrambled(x) % 64);
}

// Rows of a field, one after the other, so that each value is worked out once: what it begins with,
// and what it is after one step and after two.
class FieldRows {
 public:
  // From `row` on, `count` cells from `column` on.
  FieldRows(const Field& field, std::int64_t row, std::int64_t column, std::uint64_t count);
  void next();
  // Cells of this row.
  const double* at() const { return &at_[2][kBeyond]; }
  const double* once() const { return &once_[1][kBeyond]; }
  const double* twice() const { return &twice_[kBeyond]; }

 private:
  static constexpr std::size_t kBeyond = 2;  // cells at either end, which two steps read
  using Values = std::vector<double>;

  Values values_of(std::int64_t row) const;
  Values relaxed(const Values& above, const Values& here, const Values& below,
                 std::int64_t row) const;

  const Field field_;
  const std::int64_t column_;
  const std::size_t width_;
  std::int64_t row_;
  std::array<Values, 5> at_;    // from two rows above to two below
  std::array<Values, 3> once_;  // from the row above to that below
  Values twice_;
};

// Which cells come first: all of them, or those that neighbours need.
enum class Cells { kAll, kEdges };

// Where cells are in an array, in cells. Each row begins at a multiple of 64 bytes.
struct CellLayout {
  CellLayout(const Tile& tile, std::size_t cell_bytes);
  std::uint64_t pitch;   // from one row to the next
  std::uint64_t origin;  // of the tile's first cell
  std::uint64_t cells;   // in all
  std::uint64_t at(std::int64_t row, std::int64_t column) const {
    return origin + static_cast<std::uint64_t>(row * static_cast<std::int64_t>(pitch) + column);
  }
};

// The cells of a tile, with a line of others around it, twice: a step reads one and writes the
// other. What a side's neighbour is sent and has sent are in buffers of their own.
class Relaxation {
 public:
  virtual ~Relaxation() = default;

  // A step, where it is `summed` with the sum of the squares of all changes. On a device it is only
  // begun, with kEdges the cells inside beside all that follows, until the next step needs them.
  virtual void step(Cells first, bool summed) = 0;
  // The cells that come first are there, where a neighbour or the norm needs them.
  virtual void finish_first() = 0;
  // The outermost new cells of each side with a neighbour into out(side); done when it returns.
  virtual void pack() = 0;
  // What is in in(side) into the line around the new cells; on a device it is only begun.
  virtual void unpack() = 0;
  // The cells inside of a step that began with kEdges, by the CPU; a device is at them already.
  virtual void compute_inside() = 0;
  // Of the last step, which was summed: after each such step, and before the next.
  virtual double sum() = 0;
  // All that was begun is done.
  virtual void finish() = 0;
  // What it must be of the first step from the field, or of the second.
  virtual double expected_sum(const Field& field, std::uint64_t step) = 0;
  // The new cells are those of the next step.
  void turn() { std::swap(from_, to_); }

  SlotBuffer& out(Side side) { return *out_[side]; }
  SlotBuffer& in(Side side) { return *in_[side]; }

  // All cells, and those around, as the field has them; what a step is to write is poisoned.
  virtual void set(const Field& field) = 0;
  // The first cell, in the order of rows and of columns from those around the tile on, that is not
  // as the field has it after two steps.
  struct Wrong {
    std::int64_t row;  // in the tile: -1 is above it
    std::int64_t column;
    double expected;
    double got;
  };
  virtual std::optional<Wrong> find_wrong(const Field& field) = 0;

  // Of the next step, by the CPU, row by row: all cells and those around, or those of one row.
  void write(const std::function<double(std::int64_t row, std::int64_t column)>& value);
  std::vector<double> read(std::int64_t row) const;

 protected:
  Relaxation(const CaseContext& context, const Tile& tile, std::size_t cell_bytes);

  const Tile tile_;
  const CellLayout layout_;
  const std::size_t cell_bytes_;
  const SlotBuffer first_;
  const SlotBuffer second_;
  char* from_;
  char* to_;

 private:
  std::array<std::optional<SlotBuffer>, 4> out_;
  std::array<std::optional<SlotBuffer>, 4> in_;
};

// In memory of the context's kind, by whoever computes there. `type`: float or double. Throws
// Unfit, std::bad_alloc and the accelerator's errors.
std::unique_ptr<Relaxation> make_relaxation(const CaseContext& context, const Tile& tile,
                                            const std::string& type);

// Bytes of a tile's cells, both times.
std::uint64_t relaxation_bytes(const Tile& tile, std::size_t cell_bytes);

// The first cell of a line along a side and the step to the next: within the tile, or around it.
struct Line {
  std::uint64_t first;
  std::uint64_t step;
};
Line line_of(const Tile& tile, const CellLayout& layout, Side side, bool around);

std::unique_ptr<Relaxation> relaxation_on_host(const CaseContext& context, const Tile& tile,
                                               const std::string& type);
std::unique_ptr<Relaxation> relaxation_on_device(const CaseContext& context, const Tile& tile,
                                                 const std::string& type);

}  // namespace nearpeak
