// SPDX-License-Identifier: Apache-2.0
// Kernels as source that is the same for every vendor whose language is like CUDA C++. It uses C++
// and what a prelude of the vendor's has (accel/cuda/prelude.hpp), which is put before it. All
// arguments are 64 bits wide, or structures of such numbers.
#pragma once

#include <string>

#include "accel/reduction.hpp"

namespace nearpeak::kernels {

// Payloads as payload/pattern.hpp has them, of all slots at once; right for every shape of launch.
//   fill(base, bytes, stride, count, seed, round, stamps)    stamps: 0, or 1 for these alone
//   poison(base, stride, count, seed)
//   find_mismatch(base, bytes, stride, count, seed, round, stamps, first)
//                            *first becomes the smaller of itself and of where, in bytes from
//                            `base`, the first wrong byte is
extern const char* const kPattern;

//   pack_blocks(packed, data, offsets, starts, count, word, lanes)
//   unpack_blocks(data, packed, offsets, starts, count, word, lanes)
//     of `count` blocks, the one at data + offsets[i] and at packed + starts[i], which has
//     starts[i + 1] - starts[i] bytes; `lanes` threads share a block, and each copies `word` bytes
//     at once (16, 8, 4, else 1), which divides all of these numbers
extern const char* const kPack;

//   copy_slots(to, from, bytes, stride, count, blocks)
//     `count` messages of `bytes`, from each slot to the next `stride` bytes; `blocks` blocks of
//     the launch share a message, and their number divides that of the launch
// The functions by which it copies are used by the sources below, which follow it.
extern const char* const kCopy;

//   answer_flags(asked, answered, patience_ns)  one thread
//     every new value of *asked becomes that of *answered; ends when it is all ones
//   pass_messages(peer_box, box, out, in, bytes, rounds, samples, leads, patience_ns, times_ns)
//     one block, on each of two devices, one of which leads: a message of `bytes` goes to and fro,
//     from `out` through the other's box into the other's `in`. In a box, of 16 bytes for each 8 of
//     a message, and zero before, every word has the message's number beside it. The time of every
//     `rounds` round trips is put into times_ns
// Both end when they have waited in vain for `patience_ns`.
extern const char* const kFlags;

//   compute(sums, steps, one, times_ns)
//     every thread does `steps` of arithmetic in registers and stores its sum; `one` is 1, which no
//     compiler is to know. When each block began and ended is put into times_ns, two for each
extern const char* const kArithmetic;

//   hand_over(seen, in, out, source, bytes, times_ns, number)    one block, stream/chain.cpp
//     copies what is in `in` to `seen` and what is in `source` to `out`, and clears `in`. When it
//     began and ended is put into times_ns, two for each number
// It uses functions of kCopy.
std::string handing_over();

//   resident(...)  accel/resident.cpp launches it; what it shares with CPUs is in
//   accel/resident.hpp
std::string resident();

// All that move data.
std::string motion();

//   move_blocks(to, from, bytes, word, block, count0, to0, from0, count1, to1, from1, count2, to2,
//               from2, to3, from3)
//     `bytes` in blocks of `block`: `count0` of them are `to0` bytes from one to the next in one
//     and `from0` in the other, `count1` times that `to1` and `from1`, and so on; `word` bytes are
//     copied at once (16, 8, 4, 2 or 1), which divides all of these but the counts
extern const char* const kBlocks;

//   copy_batch(batch, blocks)    accel/batch_copier.cpp launches it; `blocks` blocks share a piece
// It uses functions of the persistent copy kernel's source.
extern const char* const kBatch;

//   reduce(to, from0, ..., from7, ranks, count, quads)
//     `count` elements of the first `ranks` vectors, combined in their order; the first `quads`
//     pieces of 16 bytes, none unless all addresses are multiples of that, each at once
// Of a reduction that is known.
std::string reduction(const Combination& of);

//   persistent_copy(mailbox, next, number, patience_ns)  one block;
//   accel/persistent_copy_kernel.cpp launches it. What it shares with the CPU is in
//   accel/persistent_copy_kernel.hpp
// With kBlocks and kBatch behind it, so that all are compiled together.
std::string persistent_copy();

// Source that is the same in OpenCL C and in languages like CUDA C++, as either. It uses C, GLOBAL
// before what points to memory, UNALIASED behind the * of what nothing else points to,
// STRUCT_OF_16, FUNCTION, thread_number(), thread_count() and block_number(). With PARTS_OF_SUM(p)
// before all else in a kernel, put_sum_of_block(sum, p, mine), which all threads of a block call
// once, writes the sum of what they have, always in the same order; they are a power of two, at
// most 256.
std::string portable_in_cpp(const std::string& source);
std::string portable_in_opencl(const std::string& source);

// Jacobi's method (app/relaxation.hpp), with cells of this type, of so many bytes. Arrays of cells
// have rows `pitch` apart, of which the tile's first begins at `origin`, a multiple of 16 bytes.
//   relax(to, from, first, pitch, rows, columns, band, sums, first_sum)
//     `rows` rows, of which the cell `first` is the first; a thread takes 16 bytes of `band` rows,
//     then others where there are fewer threads than that. The squared changes of each block are
//     added up in sums[first_sum + block], which takes no time beside memory
//   relax_line(to, from, first, step, count, pitch)    cells that are `step` apart
//   copy_line(to, to_first, to_step, from, from_first, from_step, count)
//   add_up(totals, sums, count)    one total for each block
//   add_up_expected(totals, rows, columns, row, column, whole_rows, whole_columns, round, down,
//                   across, step)
//     the squared changes of the first or the second step from a Field, likewise
//   set_cells(cells, origin, pitch, rows, columns, row, column, whole_rows, whole_columns, round,
//             down, across, poisoned)
//   find_wrong(cells, origin, pitch, rows, columns, row, column, whole_rows, whole_columns, round,
//              down, across, found)
//     of a Field, after two steps; found: for each thread the first cell that is wrong, all ones
//     where there is none
std::string relaxation(const std::string& type, unsigned bytes);

// Halos of blocks of cells (app/halo_block.hpp), with cells of this type.
//   pack_boxes(packed, cells, boxes, pieces, first, count)
//   unpack_boxes(cells, packed, boxes, pieces, first, count)
//     256 threads for each of `count` pieces from `first` on. A piece: where its box begins in
//     `boxes`, and the first of its cells in the box; it has at most `chunk`. A box: its first cell
//     in `packed`, how many it has, below 2^31, its first in `cells`; of columns, rows and planes
//     their number and the factor and shift that divide by it; cells from a row to the next, from
//     a plane, from a field
//   set_cells(cells, block, count, round, all)
//   find_wrong(cells, block, count, round, all, edges, found)
//     of `count` cells those that neighbours are sent and the halo, and `all` others where it is
//     not 0. A block: cells, halo, first place and whole domain, along each dimension; found: for
//     each thread the first cell that is wrong, all ones where there is none
std::string halo(const std::string& type, unsigned chunk);

// A weather model's pattern (app/cosmo_fields.hpp), also portable. `values` are those of all rows,
// of all columns and of all planes, one after the other.
//   cosmo_update(now, here, origin, pitch, plane_pitch, side, planes, band)
//     a thread for each column of each plane and each `band` rows
//   cosmo_pack(message, cells, first, pitch, plane_pitch, rows, columns, planes)    a Face
//   cosmo_unpack(message, cells, first, pitch, plane_pitch, rows, columns, planes)
//   cosmo_write(cells, origin, pitch, plane_pitch, side, planes, values, all)
//     all: 0 where cells around the rank's own are poisoned
//   cosmo_find_wrong(cells, origin, pitch, plane_pitch, side, planes, values, around, found)
//     found: for each thread the first cell that is wrong, all ones where there is none
extern const char* const kCosmo;

// Particles (app/particles.hpp), also portable. A thread counts those of each direction that leave
// among every `counters`-th particle, in counts[direction * counters + thread].
//   particles_mark(marks, counts, records, words, all, shift, moving, directions, counters)
//     where each particle goes; 255: it stays
//   particles_add_up(sums, counts, group, groups)
//     of each `group` of counts the sum; in place of a count is the sum of those before it
//   particles_list(leaving, marks, counts, begins, all, group, counters, room)
//     the places of those that leave, of each group of counts from `begins` on, as far as there is
//     room
//   particles_pack(out, records, leaving, count, pieces)    records of so many 16 bytes
//   particles_unpack(in, records, leaving, count, pieces)
extern const char* const kParticles;

}  // namespace nearpeak::kernels
