// SPDX-License-Identifier: Apache-2.0
#include "accel/kernels/kernels.hpp"

namespace nearpeak::kernels {
namespace {

// A piece is CHUNK cells of one box, or what is left of it. Threads that follow each other have
// cells that do, in the message.
const char* const kHalo = R"(
#define THREADS 256

FUNCTION u32 divided(u32 number, u64 factor, u64 shift) {
  return (u32)((u64)number * (u32)factor >> shift);
}

// Of the number-th cell of a box.
FUNCTION u64 place_in(GLOBAL const u64* box, u32 number) {
  const u32 row = divided(number, box[4], box[5]);
  const u32 plane = divided(row, box[7], box[8]);
  const u32 field = divided(plane, box[10], box[11]);
  return box[2] + number - row * (u32)box[3] + (row - plane * (u32)box[6]) * box[12] +
         (plane - field * (u32)box[9]) * box[13] + field * box[14];
}

KERNEL pack_boxes(GLOBAL REAL* UNALIASED packed, GLOBAL const REAL* UNALIASED cells,
                  GLOBAL const u64* UNALIASED boxes, GLOBAL const u64* UNALIASED pieces,
                  u64 first, u64 count) {
  const u64 piece = thread_number() / THREADS;
  if (piece >= count) return;
  GLOBAL const u64* box = boxes + pieces[2 * (first + piece)];
  const u64 begin = pieces[2 * (first + piece) + 1];
  const u64 end = begin + CHUNK < box[1] ? begin + CHUNK : box[1];
  for (u64 i = begin + thread_number() % THREADS; i < end; i += THREADS)
    packed[box[0] + i] = cells[place_in(box, (u32)i)];
}

KERNEL unpack_boxes(GLOBAL REAL* UNALIASED cells, GLOBAL const REAL* UNALIASED packed,
                    GLOBAL const u64* UNALIASED boxes, GLOBAL const u64* UNALIASED pieces,
                    u64 first, u64 count) {
  const u64 piece = thread_number() / THREADS;
  if (piece >= count) return;
  GLOBAL const u64* box = boxes + pieces[2 * (first + piece)];
  const u64 begin = pieces[2 * (first + piece) + 1];
  const u64 end = begin + CHUNK < box[1] ? begin + CHUNK : box[1];
  for (u64 i = begin + thread_number() % THREADS; i < end; i += THREADS)
    cells[place_in(box, (u32)i)] = packed[box[0] + i];
}

FUNCTION u32 value_at(i64 plane, i64 row, i64 column, i64 field, u64 round) {
  const u32 x = (u32)plane * 0x9E3779B1u + (u32)row * 0x85EBCA77u + (u32)column * 0xC2B2AE3Du +
                (u32)field * 0x27D4EB2Fu + (u32)round * 0x165667B1u;
  return scrambled(x) >> 9;
}

// How many dimensions a cell of the array is outside of the block along; -1: it is inside, no
// neighbour is sent it.
FUNCTION i64 outside(GLOBAL const i64* block, i64 number, i64* plane, i64* row, i64* column,
                     i64* field) {
  const i64 columns = block[2] + 2 * block[5], rows = block[1] + 2 * block[4],
            planes = block[0] + 2 * block[3];
  *column = number % columns - block[5];
  *row = number / columns % rows - block[4];
  *plane = number / columns / rows % planes - block[3];
  *field = number / columns / rows / planes;
  if (*plane >= block[3] && *plane < block[0] - block[3] && *row >= block[4] &&
      *row < block[1] - block[4] && *column >= block[5] && *column < block[2] - block[5])
    return -1;
  return (*plane < 0 || *plane >= block[0] ? 1 : 0) + (*row < 0 || *row >= block[1] ? 1 : 0) +
         (*column < 0 || *column >= block[2] ? 1 : 0);
}

FUNCTION REAL value(GLOBAL const i64* block, i64 plane, i64 row, i64 column, i64 field,
                    u64 round) {
  return (REAL)value_at((block[6] + plane + block[9]) % block[9],
                        (block[7] + row + block[10]) % block[10],
                        (block[8] + column + block[11]) % block[11], field, round);
}

KERNEL set_cells(GLOBAL REAL* cells, GLOBAL const i64* block, u64 count, u64 round, u64 all) {
  for (u64 i = thread_number(); i < count; i += thread_count()) {
    i64 plane, row, column, field;
    const i64 out = outside(block, (i64)i, &plane, &row, &column, &field);
    if (out < 0 && all == 0) continue;
    cells[i] = out > 0 ? (REAL)-0.5 : value(block, plane, row, column, field, round);
  }
}

KERNEL find_wrong(GLOBAL const REAL* cells, GLOBAL const i64* block, u64 count, u64 round, u64 all,
                  u64 edges, GLOBAL u64* found) {
  u64 wrong = ~(u64)0;
  for (u64 i = thread_number(); i < count && wrong == ~(u64)0; i += thread_count()) {
    i64 plane, row, column, field;
    const i64 out = outside(block, (i64)i, &plane, &row, &column, &field);
    if (out < 0 && all == 0) continue;
    const REAL wanted =
        out > 1 && edges == 0 ? (REAL)-0.5 : value(block, plane, row, column, field, round);
    if (cells[i] != wanted) wrong = i;
  }
  found[thread_number()] = wrong;
}
)";

}  // namespace

std::string halo(const std::string& type, unsigned chunk) {
  return "#define REAL " + type + "\n#define CHUNK " + std::to_string(chunk) + "\n" + kHalo;
}

}  // namespace nearpeak::kernels
