// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {

// Threads that follow each other have columns that do, and go down a band of rows: what a cell
// needs of other rows is in registers.
const char* const kCosmo = R"(
KERNEL cosmo_update(GLOBAL double* UNALIASED now, GLOBAL const double* UNALIASED here, u64 origin,
                    u64 pitch, u64 plane_pitch, u64 side, u64 planes, u64 band) {
  const u64 bands = (side + band - 1) / band;
  const u64 thread = thread_number();
  if (thread >= planes * bands * side) return;
  const u64 first = thread / side % bands * band;
  const u64 count = side - first < band ? side - first : band;
  u64 at = origin + thread / (side * bands) * plane_pitch + first * pitch + thread % side;
  double up3 = here[at - 3 * pitch], up2 = here[at - 2 * pitch], up1 = here[at - pitch];
  double centre = here[at], down1 = here[at + pitch], down2 = here[at + 2 * pitch];
  for (u64 row = 0; row < count; ++row) {
    const double down3 = here[at + 3 * pitch];
    now[at] = 0.125 * (centre + ((here[at - 1] + here[at + 1]) + (up1 + down1))) +
              0.0625 * ((here[at - 2] + here[at + 2]) + (up2 + down2)) +
              0.03125 * ((here[at - 3] + here[at + 3]) + (up3 + down3));
    up3 = up2;
    up2 = up1;
    up1 = centre;
    centre = down1;
    down1 = down2;
    down2 = down3;
    at += pitch;
  }
}

FUNCTION u64 cell_of_face(u64 i, u64 first, u64 pitch, u64 plane_pitch, u64 rows, u64 columns) {
  const u64 row = i / columns;
  return first + row / rows * plane_pitch + row % rows * pitch + i % columns;
}

KERNEL cosmo_pack(GLOBAL double* UNALIASED message, GLOBAL const double* UNALIASED cells, u64 first,
                  u64 pitch, u64 plane_pitch, u64 rows, u64 columns, u64 planes) {
  for (u64 i = thread_number(); i < planes * rows * columns; i += thread_count())
    message[i] = cells[cell_of_face(i, first, pitch, plane_pitch, rows, columns)];
}

KERNEL cosmo_unpack(GLOBAL const double* UNALIASED message, GLOBAL double* UNALIASED cells,
                    u64 first, u64 pitch, u64 plane_pitch, u64 rows, u64 columns, u64 planes) {
  for (u64 i = thread_number(); i < planes * rows * columns; i += thread_count())
    cells[cell_of_face(i, first, pitch, plane_pitch, rows, columns)] = message[i];
}

KERNEL cosmo_write(GLOBAL double* cells, u64 origin, u64 pitch, u64 plane_pitch, u64 side,
                   u64 planes, GLOBAL const double* values, u64 all) {
  const u64 wide = side + 6;
  for (u64 i = thread_number(); i < planes * wide * wide; i += thread_count()) {
    const u64 plane = i / (wide * wide), row = i / wide % wide, column = i % wide;
    const bool own = row >= 3 && row < side + 3 && column >= 3 && column < side + 3;
    cells[origin - 3 * pitch - 3 + plane * plane_pitch + row * pitch + column] =
        own || all != 0 ? values[row] + values[wide + column] + values[2 * wide + plane] : -0.5;
  }
}

KERNEL cosmo_find_wrong(GLOBAL const double* cells, u64 origin, u64 pitch, u64 plane_pitch,
                        u64 side, u64 planes, GLOBAL const double* values, u64 around,
                        GLOBAL u64* found) {
  const u64 wide = side + 6;
  u64 wrong = ~(u64)0;
  for (u64 i = thread_number(); i < planes * wide * wide && wrong == ~(u64)0;
       i += thread_count()) {
    const u64 plane = i / (wide * wide), row = i / wide % wide, column = i % wide;
    const bool outer_row = row < 3 || row >= side + 3;
    const bool outer_column = column < 3 || column >= side + 3;
    if ((outer_row && outer_column) || ((outer_row || outer_column) && around == 0)) continue;
    if (cells[origin - 3 * pitch - 3 + plane * plane_pitch + row * pitch + column] !=
        values[row] + values[wide + column] + values[2 * wide + plane])
      wrong = i;
  }
  found[thread_number()] = wrong;
}
)";

}  // namespace nearpeak::kernels
