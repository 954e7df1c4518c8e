// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "app/halo_cells.hpp"
#include "app/large_pages.hpp"

namespace nearpeak {
namespace {

// Part of a row, whose cells may be known when compiled: of a narrow halo they are few.
template <std::int64_t kCells, class Real>
void copy_cells(Real* to, const Real* from, std::int64_t cells) {
  std::memcpy(to, from, static_cast<std::size_t>(kCells == 0 ? cells : kCells) * sizeof(Real));
}

// Rows of a box, one behind the other in `packed`.
template <bool kPacks, std::int64_t kCells, class Real>
Real* copy_rows(Real* packed, Real* cells, std::int64_t rows, std::int64_t pitch,
                std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if constexpr (kPacks)
      copy_cells<kCells>(packed, cells + row * pitch, columns);
    else
      copy_cells<kCells>(cells + row * pitch, packed, columns);
    packed += kCells == 0 ? columns : kCells;
  }
  return packed;
}

template <class Real>
class OnHost final : public HaloCells {
 public:
  OnHost(const CaseContext& context, const HaloBlock& block,
         const std::vector<HaloMessage>& messages)
      : block_(block),
        messages_(messages),
        pitch_(block.padded()[2]),
        buffer_(context.memory, static_cast<std::size_t>(block.cells_of_all()) * sizeof(Real), 1,
                context.offset),
        cells_(reinterpret_cast<Real*>(buffer_.slot(0))) {
    ask_for_large_pages(buffer_);
  }

  char* data() const override { return buffer_.slot(0); }
  void pack(PackedHalo& packed, bool at_once) override { move<true>(packed.out, at_once); }
  void unpack(PackedHalo& packed, bool at_once) override { move<false>(packed.in, at_once); }

  void set(std::uint64_t round, Part part) override {
    for_each(part, [&](const Triple& cell, std::int64_t field, std::int64_t number) {
      const bool own = std::all_of(kDimensions.begin(), kDimensions.end(), [&](std::size_t i) {
        return cell[i] >= 0 && cell[i] < block_.cells[i];
      });
      cells_[number] =
          static_cast<Real>(own ? halo_value(block_.place_of(cell), field, round) : kPoisonedCell);
      return true;
    });
  }

  std::optional<std::int64_t> find_wrong(std::uint64_t round, Part part) const override {
    std::optional<std::int64_t> wrong;
    for_each(part, [&](const Triple& cell, std::int64_t field, std::int64_t number) {
      if (cells_[number] != static_cast<Real>(block_.expected(cell, field, round))) wrong = number;
      return !wrong;
    });
    return wrong;
  }
  double value_at(std::int64_t number) const override {
    return static_cast<double>(cells_[number]);
  }

 private:
  // Of cells of the array, in their order, as long as it is true; with Part::kStamps not of those
  // inside.
  template <class Visit>
  void for_each(Part part, Visit visit) const {
    const Triple& cells = block_.cells;
    const Triple& halo = block_.halo;
    for (std::int64_t field = 0; field < block_.fields; ++field)
      for (std::int64_t plane = -halo[0]; plane < cells[0] + halo[0]; ++plane)
        for (std::int64_t row = -halo[1]; row < cells[1] + halo[1]; ++row) {
          const bool leaps = part == Part::kStamps && block_.inside({plane, row, halo[2]});
          const std::int64_t start = field * block_.cells_of_field() + block_.at({plane, row, 0});
          for (std::int64_t column = -halo[2]; column < cells[2] + halo[2]; ++column) {
            if (leaps && column == halo[2]) column = cells[2] - halo[2];
            if (!visit(Triple{plane, row, column}, field, start + column)) return;
          }
        }
  }

  template <bool kPacks>
  void move(MessageBuffers& buffers, bool at_once) {
    const auto cells_of = [&](std::size_t message) {
      return reinterpret_cast<Real*>(buffers[message].slot(0));
    };
    if (at_once) return move_at_once<kPacks>(cells_of);
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const HaloMessage& message = messages_[i];
      const Box box = kPacks ? block_.outgoing(message.way) : block_.incoming(message.way);
      Real* packed = cells_of(i);
      for (std::int64_t field = 0; field < message.fields; ++field)
        for (std::int64_t plane = 0; plane < box.count[0]; ++plane)
          packed = rows<kPacks>(
              packed,
              cell(message.first_field + field, box.first[0] + plane, box.first[1], box.first[2]),
              box.count[1], box.count[2]);
    }
  }

  // In the order of the cells: what several boxes have of a row is in a cache when the next one
  // needs it. Every box is packed in this order, too.
  template <bool kPacks, class CellsOf>
  void move_at_once(CellsOf cells_of) {
    const Triple& halo = block_.halo;
    // Between these rows all are of the same boxes.
    const std::int64_t last = block_.cells[1];
    std::array<std::int64_t, 6> ends{-halo[1], 0, halo[1], last - halo[1], last, last + halo[1]};
    std::sort(ends.begin(), ends.end());
    const std::size_t parts = static_cast<std::size_t>(block_.fields / messages_[0].fields);
    for (std::int64_t field = 0; field < block_.fields; ++field) {
      // A message of several fields goes on where the field before has ended.
      if (field % messages_[0].fields == 0)
        for (std::size_t i = static_cast<std::size_t>(field / messages_[0].fields);
             i < messages_.size(); i += parts)
          places_[number_of(messages_[i].way)] = cells_of(i);
      for (std::int64_t plane = -halo[0]; plane < block_.cells[0] + halo[0]; ++plane)
        for (std::size_t i = 0; i + 1 < ends.size(); ++i)
          move_rows<kPacks>(field, plane, ends[i], ends[i + 1]);
    }
  }

  // What a box has of some rows.
  struct Strip {
    Real** packed;
    Real* cells;
    std::int64_t columns;
  };

  // From row `begin` to `end`, which are of the same boxes.
  template <bool kPacks>
  void move_rows(std::int64_t field, std::int64_t plane, std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    std::array<Strip, 27> strips;
    std::size_t count = 0;
    for (std::int64_t i = -1; i <= 1; ++i)
      for (std::int64_t j = -1; j <= 1; ++j) {
        if (!has<kPacks>(0, i, plane) || !has<kPacks>(1, j, begin)) continue;
        for (std::int64_t k = -1; k <= 1; ++k) {
          Real*& place = places_[number_of({i, j, k})];
          if (place == nullptr) continue;
          const Direction way{0, 0, k};
          const Box box = kPacks ? block_.outgoing(way) : block_.incoming(way);
          strips[count++] = {&place, cell(field, plane, begin, box.first[2]), box.count[2]};
        }
      }
    if (count == 1) {
      const Strip& strip = strips[0];
      *strip.packed = rows<kPacks>(*strip.packed, strip.cells, end - begin, strip.columns);
      return;
    }
    // As most rows are: their first cells and their last are moved.
    if (count == 2 && strips[0].columns == strips[1].columns)
      return move_both<kPacks>(strips[0], strips[1], end - begin);
    for (std::int64_t row = 0; row < end - begin; ++row)
      for (std::size_t i = 0; i < count; ++i)
        *strips[i].packed =
            rows<kPacks>(*strips[i].packed, strips[i].cells + row * pitch_, 1, strips[i].columns);
  }

  template <bool kPacks>
  void move_both(const Strip& strip, const Strip& other, std::int64_t count) const {
    switch (strip.columns) {
      case 1:
        return move_both<kPacks, 1>(strip, other, count);
      case 2:
        return move_both<kPacks, 2>(strip, other, count);
      case 3:
        return move_both<kPacks, 3>(strip, other, count);
      default:
        return move_both<kPacks, 0>(strip, other, count);
    }
  }
  template <bool kPacks, std::int64_t kCells>
  void move_both(const Strip& strip, const Strip& other, std::int64_t count) const {
    Real* first = *strip.packed;
    Real* second = *other.packed;
    for (std::int64_t row = 0; row < count; ++row) {
      first = copy_rows<kPacks, kCells>(first, strip.cells + row * pitch_, 1, 0, strip.columns);
      second = copy_rows<kPacks, kCells>(second, other.cells + row * pitch_, 1, 0, other.columns);
    }
    *strip.packed = first;
    *other.packed = second;
  }

  // Whether boxes to one side, or to neither, have what is there along a dimension.
  template <bool kPacks>
  bool has(std::size_t dimension, std::int64_t side, std::int64_t there) const {
    const std::int64_t cells = block_.cells[dimension];
    const std::int64_t halo = block_.halo[dimension];
    if (side == 0) return there >= 0 && there < cells;
    if constexpr (kPacks)
      return side < 0 ? there >= 0 && there < halo : there >= cells - halo && there < cells;
    return side < 0 ? there < 0 : there >= cells;
  }

  static std::size_t number_of(const Direction& way) {
    return static_cast<std::size_t>((way[0] + 1) * 9 + (way[1] + 1) * 3 + way[2] + 1);
  }

  Real* cell(std::int64_t field, std::int64_t plane, std::int64_t row, std::int64_t column) const {
    return cells_ + field * block_.cells_of_field() + block_.at({plane, row, column});
  }

  template <bool kPacks>
  Real* rows(Real* packed, Real* cells, std::int64_t count, std::int64_t columns) const {
    switch (columns) {
      case 1:
        return copy_rows<kPacks, 1>(packed, cells, count, pitch_, columns);
      case 2:
        return copy_rows<kPacks, 2>(packed, cells, count, pitch_, columns);
      case 3:
        return copy_rows<kPacks, 3>(packed, cells, count, pitch_, columns);
      default:
        return copy_rows<kPacks, 0>(packed, cells, count, pitch_, columns);
    }
  }

  const HaloBlock block_;
  const std::vector<HaloMessage> messages_;
  const std::int64_t pitch_;
  SlotBuffer buffer_;
  Real* const cells_;
  std::array<Real*, 27> places_{};  // by direction: where a message goes on
};

}  // namespace

std::unique_ptr<HaloCells> halo_cells_on_host(const CaseContext& context, const HaloBlock& block,
                                              const std::vector<HaloMessage>& messages,
                                              const std::string& type) {
  if (type == "float") return std::make_unique<OnHost<float>>(context, block, messages);
  return std::make_unique<OnHost<double>>(context, block, messages);
}

}  // namespace nearpeak
