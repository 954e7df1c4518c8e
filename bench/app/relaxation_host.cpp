// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "accel/host/cpu.hpp"
#include "app/relaxation.hpp"
#include "app/vectors.hpp"

namespace nearpeak {
namespace {

// What adds up beside each other.
using Sums = std::array<double, 16>;

// Of a piece of some rows, `pitch` apart in both arrays: now = the mean of the neighbours of
// `here`; the squared changes are added to `sums`, where it is not null.
template <class Real>
using RelaxRows = void (*)(Real* now, const Real* here, std::size_t pitch, std::size_t count,
                           Sums* sums);

// Of one row.
template <class Real>
void relax_plain(Real* now, const Real* here, std::size_t pitch, std::size_t count, Sums* sums) {
  const Real* const up = here - pitch;
  const Real* const down = here + pitch;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    now[i] = static_cast<Real>(0.25) * ((here[i - 1] + here[i + 1]) + (up[i] + down[i]));
    const Real change = now[i] - here[i];
    sum += static_cast<double>(change * change);
  }
  if (sums != nullptr) (*sums)[0] += sum;
}

// Rows that are computed at once: what one reads, its neighbour has in a register.
constexpr std::size_t kRows = 4;

#if defined(__x86_64__)

constexpr std::size_t kAheadBytes = 2048;  // so far ahead a row is asked for

// Compiled for what its caller is compiled for.
template <std::size_t kBytes, bool kPastCaches, bool kSummed, std::size_t kCount, class Real>
[[gnu::always_inline]] inline void relax_vectors(Real* now, const Real* here, std::size_t pitch,
                                                 std::size_t count, Sums* sums) {
  using Vectors = VectorOf<Real, kBytes>;
  using Vector = typename Vectors::Type;
  constexpr std::size_t kCells = Vectors::kCells;
  std::size_t i = 0;
  while (i < count && reinterpret_cast<std::uintptr_t>(here + i) % kBytes != 0) ++i;
  const auto plainly = [&](std::size_t first, std::size_t end) {
    for (std::size_t row = 0; row < kCount && first < end; ++row)
      relax_plain(now + row * pitch + first, here + row * pitch + first, pitch, end - first,
                  kSummed ? sums : nullptr);
  };
  plainly(0, i);
  [[maybe_unused]] typename Vectors::Doubles sums_of_parts[Vectors::kParts]{};
  Vector before[kCount], centre[kCount];
  for (std::size_t row = 0; row < kCount && i + kCells <= count; ++row) {
    const Real* const at = here + row * pitch + i;
    before[row] = *reinterpret_cast<const Vector*>(at - kCells);
    centre[row] = *reinterpret_cast<const Vector*>(at);
  }
  for (; i + kCells <= count; i += kCells) {
    Vector above = *reinterpret_cast<const Vector*>(here + i - pitch);
    const Vector last = *reinterpret_cast<const Vector*>(here + i + kCount * pitch);
    [[maybe_unused]] Vector squares{};  // few enough to be exact for what is verified
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kCount; ++row) {
      const Real* const at = here + row * pitch + i;
      __builtin_prefetch(at + pitch + kAheadBytes / sizeof(Real));
      const Vector after = *reinterpret_cast<const Vector*>(at + kCells);
      Vector left, right;
      if constexpr (kBytes == 32) {
        // AVX2 has no quick way to take a vector out of two.
        left = *reinterpret_cast<const typename Vectors::Loose*>(at - 1);
        right = *reinterpret_cast<const typename Vectors::Loose*>(at + 1);
      } else {
        Vectors::template take<kCells - 1>(left, before[row], centre[row]);
        Vectors::template take<1>(right, centre[row], after);
      }
      const Vector below = row + 1 < kCount ? centre[(row + 1) % kCount] : last;
      const Vector value = static_cast<Real>(0.25) * ((left + right) + (above + below));
      auto* const to = reinterpret_cast<Vector*>(now + row * pitch + i);
      if constexpr (kPastCaches)
        Vectors::put_past_caches(to, value);
      else
        *to = value;
      if constexpr (kSummed) {
        const Vector change = value - centre[row];
        squares += change * change;
      }
      above = centre[row];
      before[row] = centre[row];
      centre[row] = after;
    }
    if constexpr (kSummed) {
      typename Vectors::Part parts[Vectors::kParts];
      std::memcpy(parts, &squares, sizeof(parts));
      for (std::size_t part = 0; part < Vectors::kParts; ++part)
        sums_of_parts[part] += __builtin_convertvector(parts[part], typename Vectors::Doubles);
    }
  }
  if constexpr (kSummed)
    for (const auto& part : sums_of_parts)
      for (std::size_t lane = 0; lane < kCells / Vectors::kParts; ++lane)
        (*sums)[lane] += part[lane];
  plainly(i, count);
}

template <bool kPastCaches, std::size_t kCount, class Real>
__attribute__((target("avx512f"))) void relax_avx512(Real* now, const Real* here, std::size_t pitch,
                                                     std::size_t count, Sums* sums) {
  if (sums != nullptr)
    return relax_vectors<64, kPastCaches, true, kCount>(now, here, pitch, count, sums);
  relax_vectors<64, kPastCaches, false, kCount>(now, here, pitch, count, sums);
}

template <bool kPastCaches, std::size_t kCount, class Real>
__attribute__((target("avx2"))) void relax_avx2(Real* now, const Real* here, std::size_t pitch,
                                                std::size_t count, Sums* sums) {
  if (sums != nullptr)
    return relax_vectors<32, kPastCaches, true, kCount>(now, here, pitch, count, sums);
  relax_vectors<32, kPastCaches, false, kCount>(now, here, pitch, count, sums);
}

template <bool kPastCaches, std::size_t kCount, class Real>
void relax_sse2(Real* now, const Real* here, std::size_t pitch, std::size_t count, Sums* sums) {
  if (sums != nullptr)
    return relax_vectors<16, kPastCaches, true, kCount>(now, here, pitch, count, sums);
  relax_vectors<16, kPastCaches, false, kCount>(now, here, pitch, count, sums);
}

// Of kCount rows.
template <std::size_t kCount, class Real>
RelaxRows<Real> rows_function(bool past_caches) {
  if (cpu_has("avx512f"))
    return past_caches ? relax_avx512<true, kCount, Real> : relax_avx512<false, kCount, Real>;
  if (cpu_has("avx2"))
    return past_caches ? relax_avx2<true, kCount, Real> : relax_avx2<false, kCount, Real>;
  return past_caches ? relax_sse2<true, kCount, Real> : relax_sse2<false, kCount, Real>;
}

#else

template <std::size_t kCount, class Real>
RelaxRows<Real> rows_function(bool) {
  return [](Real* now, const Real* here, std::size_t pitch, std::size_t count, Sums* sums) {
    for (std::size_t row = 0; row < kCount; ++row)
      relax_plain(now + row * pitch, here + row * pitch, pitch, count, sums);
  };
}
#endif

template <class Real>
class OnHost final : public Relaxation {
 public:
  OnHost(const CaseContext& context, const Tile& tile) : Relaxation(context, tile, sizeof(Real)) {
    touch(first_);
    touch(second_);
    choose(writes_past_caches(context, relaxation_bytes(tile_, sizeof(Real)), [this](bool past) {
      choose(past);
      for (int way = 0; way < 2; ++way, turn()) relax(0, tile_.rows, 0, tile_.columns);
    }));
  }

  void step(Cells first, bool summed) override {
    summed_ = summed;
    std::fill(sums_.begin(), sums_.end(), 0.0);
    if (first == Cells::kAll) return relax(0, tile_.rows, 0, tile_.columns);
    relax(0, top_, 0, tile_.columns);
    relax(end_, tile_.rows, 0, tile_.columns);
    relax(top_, end_, 0, left_);
    relax(top_, end_, right_, tile_.columns);
  }
  void finish_first() override {}
  void compute_inside() override { relax(top_, end_, left_, right_); }

  void pack() override {
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        copy_line(cells_of(out(side)), {0, 1}, new_cells(), line_of(tile_, layout_, side, false),
                  side);
  }
  void unpack() override {
    for (const Side side : kSides)
      if (tile_.neighbours[side])
        copy_line(new_cells(), line_of(tile_, layout_, side, true), cells_of(in(side)), {0, 1},
                  side);
  }
  void finish() override {}
  double sum() override {
    double all = 0;
    for (const double sum : sums_) all += sum;
    return all;
  }
  double expected_sum(const Field& field, std::uint64_t step) override {
    double all = 0;
    FieldRows rows(field, tile_.row, tile_.column, tile_.columns);
    for (std::uint64_t row = 0; row < tile_.rows; ++row, rows.next()) {
      const double* const before = step == 1 ? rows.at() : rows.once();
      const double* const after = step == 1 ? rows.once() : rows.twice();
      for (std::uint64_t i = 0; i < tile_.columns; ++i)
        all += (after[i] - before[i]) * (after[i] - before[i]);
    }
    return all;
  }
  void set(const Field& field) override {
    Real* const here = old_cells();
    Real* const there = new_cells();
    for_each([&](std::int64_t row, std::int64_t column) {
      const auto value = static_cast<Real>(field.at(tile_.row + row, tile_.column + column));
      const bool held = field.outside(tile_.row + row, tile_.column + column);
      here[layout_.at(row, column)] = value;
      there[layout_.at(row, column)] = held ? value : static_cast<Real>(-0.5);
    });
  }

  std::optional<Wrong> find_wrong(const Field& field) override {
    const auto rows = static_cast<std::int64_t>(tile_.rows);
    const auto columns = static_cast<std::int64_t>(tile_.columns);
    FieldRows expected(field, tile_.row - 1, tile_.column - 1, tile_.columns + 2);
    for (std::int64_t row = -1; row <= rows; ++row, expected.next()) {
      const std::int64_t corner = row < 0 || row == rows ? 1 : 0;
      for (std::int64_t column = -1 + corner; column <= columns - corner; ++column) {
        const double wanted = expected.twice()[column + 1];
        const auto got = static_cast<double>(old_cells()[layout_.at(row, column)]);
        if (got != wanted) return Wrong{row, column, wanted, got};
      }
    }
    return std::nullopt;
  }

 private:
  Real* old_cells() const { return reinterpret_cast<Real*>(from_); }
  Real* new_cells() const { return reinterpret_cast<Real*>(to_); }
  static Real* cells_of(SlotBuffer& buffer) { return reinterpret_cast<Real*>(buffer.slot(0)); }

  // visit(row, column), of the tile and around it, but for the corners there.
  template <class Visit>
  void for_each(Visit visit) const {
    const auto rows = static_cast<std::int64_t>(tile_.rows);
    const auto columns = static_cast<std::int64_t>(tile_.columns);
    for (std::int64_t column = 0; column < columns; ++column) visit(-1, column);
    for (std::int64_t row = 0; row < rows; ++row) {
      visit(row, -1);
      for (std::int64_t column = 0; column < columns; ++column) visit(row, column);
      visit(row, columns);
    }
    for (std::int64_t column = 0; column < columns; ++column) visit(rows, column);
  }

  void copy_line(Real* to, const Line& into, const Real* from, const Line& of, Side side) const {
    for (std::uint64_t i = 0; i < tile_.length(side); ++i)
      to[into.first + i * into.step] = from[of.first + i * of.step];
  }

  void relax(std::uint64_t top, std::uint64_t end, std::uint64_t left, std::uint64_t right) {
    if (left >= right) return;
    for (std::uint64_t row = top; row < end;) {
      const std::uint64_t at = layout_.origin + row * layout_.pitch + left;
      const bool several = end - row >= kRows;
      (several ? relax_rows_ : relax_row_)(new_cells() + at, old_cells() + at, layout_.pitch,
                                           right - left, summed_ ? &sums_ : nullptr);
      row += several ? kRows : 1;
    }
    order_stores();
  }

  void choose(bool past_caches) {
    relax_rows_ = rows_function<kRows, Real>(past_caches);
    relax_row_ = rows_function<1, Real>(past_caches);
  }

  // The cells inside.
  const std::uint64_t top_ = tile_.neighbours[kUp] ? 1 : 0;
  const std::uint64_t end_ = tile_.rows - (tile_.neighbours[kDown] && tile_.rows > top_ ? 1 : 0);
  const std::uint64_t left_ = tile_.neighbours[kLeft] ? 1 : 0;
  const std::uint64_t right_ =
      tile_.columns - (tile_.neighbours[kRight] && tile_.columns > left_ ? 1 : 0);
  RelaxRows<Real> relax_rows_ = nullptr;
  RelaxRows<Real> relax_row_ = nullptr;
  bool summed_ = false;
  Sums sums_{};
};

}  // namespace

std::unique_ptr<Relaxation> relaxation_on_host(const CaseContext& context, const Tile& tile,
                                               const std::string& type) {
  if (type == "float") return std::make_unique<OnHost<float>>(context, tile);
  return std::make_unique<OnHost<double>>(context, tile);
}

}  // namespace nearpeak
