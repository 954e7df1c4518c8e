// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <utility>

#include "accel/host/cpu.hpp"
#include "app/cosmo_fields.hpp"
#include "app/vectors.hpp"

namespace nearpeak::cosmo {
namespace {

// Some rows of a plane, `pitch` apart in both arrays.
using UpdateRows = void (*)(double* now, const double* here, std::size_t pitch, std::size_t count);

// One row, or the end of one.
void update_plain(double* now, const double* here, std::size_t pitch, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double* const at = here + i;
    now[i] = 0.125 * (at[0] + ((at[-1] + at[1]) + (at[-pitch] + at[pitch]))) +
             0.0625 * ((at[-2] + at[2]) + (at[-2 * pitch] + at[2 * pitch])) +
             0.03125 * ((at[-3] + at[3]) + (at[-3 * pitch] + at[3 * pitch]));
  }
}

// Rows that are computed at once: what one reads, its neighbours have in registers.
constexpr std::size_t kRows = 4;

#if defined(__x86_64__)

// Compiled for what its caller is compiled for.
template <std::size_t kBytes, bool kPastCaches>
[[gnu::always_inline]] inline void update_vectors(double* now, const double* here,
                                                  std::size_t pitch, std::size_t count) {
  using All = VectorOf<double, kBytes>;
  using Vector = typename All::Type;
  constexpr auto kCells = static_cast<std::int64_t>(All::kCells);
  std::size_t i = 0;
  for (; i + kCells <= count; i += kCells) {
    Vector column[kRows + 2 * kHalo];
    for (std::size_t row = 0; row < kRows + 2 * kHalo; ++row)
      column[row] = *reinterpret_cast<const Vector*>(here + i + row * pitch - kHalo * pitch);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < kRows; ++row) {
      const double* const at = here + i + row * pitch;
      const Vector before = *reinterpret_cast<const Vector*>(at - kCells);
      const Vector centre = column[row + kHalo];
      const Vector after = *reinterpret_cast<const Vector*>(at + kCells);
      Vector left1, left2, left3, right1, right2, right3;
      All::template take<kCells - 1>(left1, before, centre);
      All::template take<kCells - 2>(left2, before, centre);
      All::template take<kCells - 3>(left3, before, centre);
      All::template take<1>(right1, centre, after);
      All::template take<2>(right2, centre, after);
      All::template take<3>(right3, centre, after);
      const Vector value =
          0.125 * (centre + ((left1 + right1) + (column[row + 2] + column[row + 4]))) +
          0.0625 * ((left2 + right2) + (column[row + 1] + column[row + 5])) +
          0.03125 * ((left3 + right3) + (column[row] + column[row + 6]));
      auto* const to = reinterpret_cast<Vector*>(now + i + row * pitch);
      if constexpr (kPastCaches)
        All::put_past_caches(to, value);
      else
        *to = value;
    }
  }
  for (std::size_t row = 0; row < kRows && i < count; ++row)
    update_plain(now + row * pitch + i, here + row * pitch + i, pitch, count - i);
}

template <bool kPastCaches>
__attribute__((target("avx512f"))) void update_avx512(double* now, const double* here,
                                                      std::size_t pitch, std::size_t count) {
  update_vectors<64, kPastCaches>(now, here, pitch, count);
}
template <bool kPastCaches>
__attribute__((target("avx2"))) void update_avx2(double* now, const double* here, std::size_t pitch,
                                                 std::size_t count) {
  update_vectors<32, kPastCaches>(now, here, pitch, count);
}

// Of kRows rows.
UpdateRows update_function(bool past_caches) {
  if (cpu_has("avx512f")) return past_caches ? update_avx512<true> : update_avx512<false>;
  if (cpu_has("avx2")) return past_caches ? update_avx2<true> : update_avx2<false>;
  return [](double* now, const double* here, std::size_t pitch, std::size_t count) {
    for (std::size_t row = 0; row < kRows; ++row)
      update_plain(now + row * pitch, here + row * pitch, pitch, count);
  };
}

#else

UpdateRows update_function(bool) {
  return [](double* now, const double* here, std::size_t pitch, std::size_t count) {
    for (std::size_t row = 0; row < kRows; ++row)
      update_plain(now + row * pitch, here + row * pitch, pitch, count);
  };
}
#endif

class OnHost final : public Fields {
 public:
  OnHost(const CaseContext& context, const Patch& patch) : Fields(context, patch) {
    const std::uint64_t bytes = layout_.cells * sizeof(double);
    for (std::size_t i = 0; i < arrays(); ++i) {
      arrays_.push_back(std::make_unique<SlotBuffer>(context.memory, bytes, 1));
      touch(*arrays_.back());
    }
    update_rows_ = update_function(writes_past_caches(context, arrays() * bytes, [this](bool past) {
      update_rows_ = update_function(past);
      for (std::size_t i = 1; i < arrays(); ++i) compute(i, i - 1);
    }));
  }

  void finish_update() override {}

  void pack(std::size_t set) override {
    for (const Side side : kSides)
      for_each_row(face_of(patch_, layout_, side, false), cells_of(out(set, side)),
                   [this, set](double* message, std::uint64_t at, std::uint64_t count) {
                     std::copy_n(array(array_of(set)) + at, count, message);
                   });
  }
  void unpack(std::size_t set) override {
    for (const Side side : kSides)
      for_each_row(face_of(patch_, layout_, side, true), cells_of(in(set, side)),
                   [this, set](const double* message, std::uint64_t at, std::uint64_t count) {
                     std::copy_n(message, count, array(array_of(set)) + at);
                   });
  }

  std::optional<Wrong> find_wrong(std::size_t set, const Values& values, bool around) override {
    std::optional<Wrong> wrong;
    for_each_cell(
        [&](std::uint64_t at, bool own, double value) {
          if (wrong || !(own || around)) return;
          const double got = array(array_of(set))[at];
          if (got != value) wrong = Wrong{at, value, got};
        },
        values);
    return wrong;
  }

 protected:
  void write(std::size_t number, const Values& values, bool given) override {
    for_each_cell([&](std::uint64_t at, bool own,
                      double value) { array(number)[at] = own || given ? value : -0.5; },
                  values);
  }

  void compute(std::size_t to, std::size_t from) override {
    for (std::uint64_t plane = 0; plane < patch_.planes(); ++plane)
      for (std::uint64_t row = 0; row < patch_.side;) {
        const std::uint64_t at = layout_.origin + plane * layout_.plane_pitch + row * layout_.pitch;
        const bool several = patch_.side - row >= kRows;
        (several ? update_rows_ : update_plain)(array(to) + at, array(from) + at, layout_.pitch,
                                                patch_.side);
        row += several ? kRows : 1;
      }
    order_stores();
  }

 private:
  static double* cells_of(const SlotBuffer& buffer) {
    return reinterpret_cast<double*>(buffer.slot(0));
  }
  double* array(std::size_t number) const { return cells_of(*arrays_[number]); }

  // visit(where in the message, cell, count)
  template <class Visit>
  void for_each_row(const Face& face, double* message, Visit visit) const {
    for (std::uint64_t plane = 0; plane < patch_.planes(); ++plane)
      for (std::uint64_t row = 0; row < face.rows; ++row) {
        visit(message, face.first + plane * layout_.plane_pitch + row * layout_.pitch,
              face.columns);
        message += face.columns;
      }
  }

  // visit(cell, is it the rank's own, its value), but for the corners around.
  template <class Visit>
  void for_each_cell(Visit visit, const Values& values) const {
    const std::uint64_t wide = patch_.side + 2 * kHalo;
    const auto outside = [this](std::uint64_t i) { return i < kHalo || i >= kHalo + patch_.side; };
    for (std::uint64_t plane = 0; plane < patch_.planes(); ++plane)
      for (std::uint64_t row = 0; row < wide; ++row)
        for (std::uint64_t column = 0; column < wide; ++column) {
          if (outside(row) && outside(column)) continue;
          visit(layout_.origin - kHalo * layout_.pitch - kHalo + plane * layout_.plane_pitch +
                    row * layout_.pitch + column,
                !outside(row) && !outside(column),
                values.rows[row] + values.columns[column] + values.planes[plane]);
        }
  }

  UpdateRows update_rows_ = nullptr;
  std::vector<std::unique_ptr<SlotBuffer>> arrays_;
};

}  // namespace

std::unique_ptr<Fields> fields_on_host(const CaseContext& context, const Patch& patch) {
  return std::make_unique<OnHost>(context, patch);
}

}  // namespace nearpeak::cosmo
