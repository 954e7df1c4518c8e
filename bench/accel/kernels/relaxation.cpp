// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {
namespace {

// Threads that follow each other have columns that do, of 16 bytes each, and go down a band of
// rows: each cell is read from memory once, its neighbours in the row are in a cache.
const char* const kRelaxation = R"(
typedef STRUCT_OF_16 { REAL lane[LANES]; } Lanes16;

#define AHEAD 8

FUNCTION REAL mean(REAL left, REAL right, REAL up, REAL down) {
  return (REAL)0.25 * ((left + right) + (up + down));
}

// Where a thread is, with its cells of the row above and of this row.
typedef struct {
  GLOBAL REAL* to;
  GLOBAL const REAL* from;
  Lanes16 up, here;
} Place;

// Relaxes the next `rows` rows, at most AHEAD, all of which are on their way before the first is
// needed. A compiler knows how many, and has them in registers. Returns the sum of squared changes.
FUNCTION double relax_rows(Place* at, u64 pitch, u64 width, u32 rows) {
  REAL before[AHEAD], after[AHEAD];
  Lanes16 down[AHEAD];
#pragma unroll
  for (u32 row = 0; row < rows; ++row) {
    GLOBAL const REAL* const from = at->from + row * pitch;
    down[row] = *(GLOBAL const Lanes16*)(from + pitch);
    before[row] = from[-1];
    after[row] = from[LANES];
  }
  double sum = 0;
#pragma unroll
  for (u32 row = 0; row < rows; ++row) {
    Lanes16 next;
    for (u32 i = 0; i < LANES; ++i)
      next.lane[i] = mean(i == 0 ? before[row] : at->here.lane[i - 1],
                          i + 1 == LANES ? after[row] : at->here.lane[i + 1], at->up.lane[i],
                          down[row].lane[i]);
    GLOBAL REAL* const to = at->to + row * pitch;
    if (width == LANES) {
      *(GLOBAL Lanes16*)to = next;
    } else {
      for (u64 i = 0; i < width; ++i) to[i] = next.lane[i];
    }
    // Of one row in REAL, which takes fewer conversions. It is exact for what is verified: the sum
    // of four squares has 22 bits.
    REAL squares = 0;
    for (u32 i = 0; i < LANES; ++i) {
      const REAL change = i < width ? next.lane[i] - at->here.lane[i] : 0;
      squares += change * change;
    }
    sum += (double)squares;
    at->up = at->here;
    at->here = down[row];
  }
  at->from += rows * pitch;
  at->to += rows * pitch;
  return sum;
}

FUNCTION double relax_bands(GLOBAL REAL* to, GLOBAL const REAL* from, u64 pitch, u64 rows,
                            u64 columns, u64 band) {
  const u64 across = (columns + LANES - 1) / LANES;
  const u64 items = across * ((rows + band - 1) / band);
  double sum = 0;
  for (u64 item = thread_number(); item < items; item += thread_count()) {
    const u64 begin = item / across * band, column = item % across * LANES;
    const u64 width = columns - column < LANES ? columns - column : LANES;
    u32 left = (u32)(rows - begin < band ? rows - begin : band);
    const u64 first = begin * pitch + column;
    Place at = {to + first, from + first, *(GLOBAL const Lanes16*)(from + first - pitch),
                *(GLOBAL const Lanes16*)(from + first)};
    for (; left >= AHEAD; left -= AHEAD) sum += relax_rows(&at, pitch, width, AHEAD);
    for (; left > 0; --left) sum += relax_rows(&at, pitch, width, 1);
  }
  return sum;
}

KERNEL relax(GLOBAL REAL* UNALIASED to, GLOBAL const REAL* UNALIASED from, u64 first, u64 pitch,
             u64 rows, u64 columns, u64 band, GLOBAL double* sums, u64 first_sum) {
  PARTS_OF_SUM(parts);
  put_sum_of_block(sums + first_sum + block_number(), parts,
                   relax_bands(to + first, from + first, pitch, rows, columns, band));
}

KERNEL relax_line(GLOBAL REAL* to, GLOBAL const REAL* from, u64 first, u64 step, u64 count,
                  u64 pitch) {
  for (u64 i = thread_number(); i < count; i += thread_count()) {
    const u64 at = first + i * step;
    to[at] = mean(from[at - 1], from[at + 1], from[at - pitch], from[at + pitch]);
  }
}

KERNEL copy_line(GLOBAL REAL* to, u64 to_first, u64 to_step, GLOBAL const REAL* from,
                 u64 from_first, u64 from_step, u64 count) {
  for (u64 i = thread_number(); i < count; i += thread_count())
    to[to_first + i * to_step] = from[from_first + i * from_step];
}

KERNEL add_up(GLOBAL double* totals, GLOBAL const double* sums, u64 count) {
  PARTS_OF_SUM(parts);
  double total = 0;
  for (u64 i = thread_number(); i < count; i += thread_count()) total += sums[i];
  put_sum_of_block(totals + block_number(), parts, total);
}

typedef struct {
  i64 rows, columns;  // of the whole
  u64 round;
  i64 down, across;
} Field;

FUNCTION bool outside(const Field* field, i64 row, i64 column) {
  return row < 0 || row >= field->rows || column < 0 || column >= field->columns;
}

FUNCTION REAL value(const Field* field, i64 row, i64 column) {
  if (field->round == 0) return (REAL)(field->down * row + field->across * column);
  const u32 x = (u32)row * 0x9E3779B1u + (u32)column * 0x85EBCA77u + (u32)field->round * 0xC2B2AE3Du;
  return (REAL)(scrambled(x) % 64);
}

FUNCTION REAL once(const Field* field, i64 row, i64 column) {
  if (outside(field, row, column)) return value(field, row, column);
  return mean(value(field, row, column - 1), value(field, row, column + 1),
              value(field, row - 1, column), value(field, row + 1, column));
}

FUNCTION REAL twice(const Field* field, i64 row, i64 column) {
  if (outside(field, row, column)) return value(field, row, column);
  return mean(once(field, row, column - 1), once(field, row, column + 1),
              once(field, row - 1, column), once(field, row + 1, column));
}

KERNEL add_up_expected(GLOBAL double* totals, u64 rows, u64 columns, i64 row, i64 column,
                       i64 whole_rows, i64 whole_columns, u64 round, i64 down, i64 across,
                       u64 step) {
  PARTS_OF_SUM(parts);
  const Field field = {whole_rows, whole_columns, round, down, across};
  double total = 0;
  for (u64 i = thread_number(); i < rows * columns; i += thread_count()) {
    const i64 y = row + (i64)(i / columns), x = column + (i64)(i % columns);
    const double change = step == 1 ? once(&field, y, x) - value(&field, y, x)
                                    : twice(&field, y, x) - once(&field, y, x);
    total += change * change;
  }
  put_sum_of_block(totals + block_number(), parts, total);
}

KERNEL set_cells(GLOBAL REAL* cells, u64 origin, u64 pitch, u64 rows, u64 columns, i64 row,
                 i64 column, i64 whole_rows, i64 whole_columns, u64 round, i64 down, i64 across,
                 u64 poisoned) {
  const Field field = {whole_rows, whole_columns, round, down, across};
  const u64 wide = columns + 2;
  for (u64 i = thread_number(); i < (rows + 2) * wide; i += thread_count()) {
    const i64 r = (i64)(i / wide) - 1, c = (i64)(i % wide) - 1;
    const bool held = outside(&field, row + r, column + c);
    cells[(i64)origin + r * (i64)pitch + c] =
        poisoned != 0 && !held ? (REAL)-0.5 : value(&field, row + r, column + c);
  }
}

KERNEL find_wrong(GLOBAL const REAL* cells, u64 origin, u64 pitch, u64 rows, u64 columns, i64 row,
                  i64 column, i64 whole_rows, i64 whole_columns, u64 round, i64 down, i64 across,
                  GLOBAL u64* found) {
  const Field field = {whole_rows, whole_columns, round, down, across};
  const u64 wide = columns + 2;
  u64 wrong = ~(u64)0;
  for (u64 i = thread_number(); i < (rows + 2) * wide && wrong == ~(u64)0; i += thread_count()) {
    const i64 r = (i64)(i / wide) - 1, c = (i64)(i % wide) - 1;
    if ((r < 0 || r == (i64)rows) && (c < 0 || c == (i64)columns)) continue;  // a corner
    if (cells[(i64)origin + r * (i64)pitch + c] != twice(&field, row + r, column + c)) wrong = i;
  }
  found[thread_number()] = wrong;
}
)";

}  // namespace

std::string relaxation(const std::string& type, unsigned bytes) {
  return "#define REAL " + type + "\n#define LANES " + std::to_string(16 / bytes) + "\n" +
         kRelaxation;
}

}  // namespace nearpeak::kernels
