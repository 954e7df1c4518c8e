// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "app/cosmo_fields.hpp"

namespace nearpeak::cosmo {
namespace {

// One row of a plane, of which rows are `pitch` apart.
using UpdateRow = void (*)(double* now, const double* here, std::size_t pitch, std::size_t count);

// Compiled for what its caller is compiled for.
[[gnu::always_inline]] inline void update_row(double* __restrict__ now,
                                              const double* __restrict__ here, std::size_t pitch,
                                              std::size_t count) {
  const double* const up1 = here - pitch;
  const double* const up2 = here - 2 * pitch;
  const double* const up3 = here - 3 * pitch;
  const double* const down1 = here + pitch;
  const double* const down2 = here + 2 * pitch;
  const double* const down3 = here + 3 * pitch;
  for (std::size_t i = 0; i < count; ++i) {
    const double* const at = here + i;
    now[i] = 0.125 * (at[0] + ((at[-1] + at[1]) + (up1[i] + down1[i]))) +
             0.0625 * ((at[-2] + at[2]) + (up2[i] + down2[i])) +
             0.03125 * ((at[-3] + at[3]) + (up3[i] + down3[i]));
  }
}

void update_row_plain(double* now, const double* here, std::size_t pitch, std::size_t count) {
  update_row(now, here, pitch, count);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,prefer-vector-width=512"))) void update_row_avx512(
    double* now, const double* here, std::size_t pitch, std::size_t count) {
  update_row(now, here, pitch, count);
}
__attribute__((target("avx2"))) void update_row_avx2(double* now, const double* here,
                                                     std::size_t pitch, std::size_t count) {
  update_row(now, here, pitch, count);
}
UpdateRow update_function() {
  if (__builtin_cpu_supports("avx512f")) return update_row_avx512;
  return __builtin_cpu_supports("avx2") ? update_row_avx2 : update_row_plain;
}
#else
UpdateRow update_function() { return update_row_plain; }
#endif

class OnHost final : public Fields {
 public:
  OnHost(const CaseContext& context, const Patch& patch)
      : Fields(context, patch), update_row_(update_function()) {
    for (std::size_t i = 0; i < arrays(); ++i)
      arrays_.push_back(
          std::make_unique<SlotBuffer>(context.memory, layout_.cells * sizeof(double), 1));
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
      for (std::uint64_t row = 0; row < patch_.side; ++row) {
        const std::uint64_t at = layout_.origin + plane * layout_.plane_pitch + row * layout_.pitch;
        update_row_(array(to) + at, array(from) + at, layout_.pitch, patch_.side);
      }
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

  const UpdateRow update_row_;
  std::vector<std::unique_ptr<SlotBuffer>> arrays_;
};

}  // namespace

std::unique_ptr<Fields> fields_on_host(const CaseContext& context, const Patch& patch) {
  return std::make_unique<OnHost>(context, patch);
}

}  // namespace nearpeak::cosmo
