// SPDX-License-Identifier: Apache-2.0
// Fields as a weather model has them on one rank: several sets of them, each updated as a whole by
// a linear mean that reaches three cells to each horizontal side. On the CPU and on devices it is
// the same arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/tiles.hpp"
#include "benchmark/benchmark.hpp"

namespace nearpeak::cosmo {

inline constexpr std::uint64_t kHalo = 3;
inline constexpr std::uint64_t kLevels = 60;  // of a field, in the vertical

// The columns of cells of one rank, and how many fields of them. Both horizontal dimensions of the
// whole are periodic, so that a rank may be its own neighbour.
struct Patch {
  std::uint64_t side;  // columns along each side of the patch
  std::uint64_t fields;
  std::size_t sets;
  Grid grid;  // of ranks
  int rank;

  std::uint64_t planes() const { return fields * kLevels; }  // of a set
  std::uint64_t cells() const { return planes() * side * side; }
  std::array<int, 4> neighbours() const;  // by side
};

// Where cells are in the array of a set, in cells. A row's own cells begin at a multiple of 64
// bytes.
struct Layout {
  explicit Layout(const Patch& patch);
  std::uint64_t pitch;        // from one row to the next,
  std::uint64_t plane_pitch;  // and from one level to the next
  std::uint64_t origin;       // of the first cell of the rank's own
  std::uint64_t cells;        // in all
};

// So many rows and columns of each plane, from the cell `first` of the array on.
struct Face {
  std::uint64_t first;
  std::uint64_t rows;
  std::uint64_t columns;
};
// What the neighbour at a side needs, or what it has sent.
Face face_of(const Patch& patch, const Layout& layout, Side side, bool around);

// What cells hold: the sum of three numbers, by row, by column and by plane, of which the first two
// begin three before the rank's own. They are whole; each update, a stencil of which the weights
// add up to one, makes another such sum of quotients of 32 times more.
struct Values {
  std::vector<double> rows;
  std::vector<double> columns;
  std::vector<double> planes;
};
// After so many updates. In round 0 all cells of a plane are alike, so that they stay as they are;
// in others they look drawn.
Values values_of(const Patch& patch, std::size_t set, std::uint64_t round, int updates);

// Each set has an array, and there is one more, which an update writes.
class Fields {
 public:
  Fields(const CaseContext& context, const Patch& patch);
  virtual ~Fields() = default;

  // On a device it is only begun, beside all that packs and unpacks.
  void update(std::size_t set);
  virtual void finish_update() = 0;
  // Of all four sides, into out() and out of in(); done when they return.
  virtual void pack(std::size_t set) = 0;
  virtual void unpack(std::size_t set) = 0;

  SlotBuffer& out(std::size_t set, Side side) { return *out_[set][side]; }
  SlotBuffer& in(std::size_t set, Side side) { return *in_[set][side]; }

  // Every set has the values of a round. What an update writes is poisoned, but in round 0; so are
  // the cells around those of the rank, where they are not `given`.
  void set(std::uint64_t round, bool given);
  // The first cell of a set that is not as it should be; those around it are looked at, too, where
  // `around`.
  struct Wrong {
    std::uint64_t cell;  // of the array
    double expected;
    double got;
  };
  virtual std::optional<Wrong> find_wrong(std::size_t set, const Values& values, bool around) = 0;

 protected:
  // Into the array of this number, which may be the one of no set.
  virtual void write(std::size_t array, const Values& values, bool given) = 0;
  virtual void compute(std::size_t to, std::size_t from) = 0;
  std::size_t arrays() const { return patch_.sets + 1; }
  std::size_t array_of(std::size_t set) const { return array_of_[set]; }

  const Patch patch_;
  const Layout layout_;

 private:
  std::vector<std::size_t> array_of_;  // each set, and at last what is free
  std::vector<std::array<std::optional<SlotBuffer>, 4>> out_;
  std::vector<std::array<std::optional<SlotBuffer>, 4>> in_;
};

std::uint64_t bytes_of(const Patch& patch);  // of all arrays and messages

std::unique_ptr<Fields> fields_on_host(const CaseContext& context, const Patch& patch);
std::unique_ptr<Fields> fields_on_device(const CaseContext& context, const Patch& patch);

}  // namespace nearpeak::cosmo
