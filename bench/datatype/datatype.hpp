// SPDX-License-Identifier: Apache-2.0
// Messages whose payload lies in blocks with gaps between them, in a ping-pong. What all shapes
// have in common: a shape is a function that makes a datatype, and the list of its blocks
// (docs/contributing/adding-a-benchmark.md). Those of applications are after DDTBench (Schneider,
// Gerstenberger and Hoefler, doi:10.1007/s00607-013-0330-4; docs/reference/sources.md).
#pragma once

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "benchmark/benchmark.hpp"
#include "datatype/packer.hpp"

namespace nearpeak {

struct Shape {
  MPI_Datatype type;          // not committed; whoever is given the shape frees it
  std::vector<Piece> pieces;  // in the order of the datatype, in which MPI packs them
};

// How many elements of so many bytes a payload of `bytes` has: as many as have at least these.
inline int elements_of(std::size_t bytes, std::size_t element) {
  return static_cast<int>(std::max<std::size_t>(1, (bytes + element - 1) / element));
}

// The smallest power of two whose square is no less: the longer side of a face of so many cells.
int side_of(int cells);

// Equal blocks, one every `stride` bytes.
std::vector<Piece> even_pieces(int count, std::size_t bytes, std::size_t stride);

// The i-th of numbers from 0 on and below `below` that look drawn, and are the same everywhere.
int irregular(int i, int below);
// So many places in ascending order, each 1 to 5 behind the one before.
std::vector<int> irregular_places(int count);

// A shape as a benchmark, which `info` names and describes: its metric is the time of one message
// one way, half the round trip.
Benchmark datatype(BenchmarkInfo info, std::function<Shape(const CaseContext&)> make,
                   std::vector<Axis> axes = {});

}  // namespace nearpeak
