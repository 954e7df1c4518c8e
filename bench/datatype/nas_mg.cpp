// SPDX-License-Identifier: Apache-2.0
// A face of a grid of doubles with ghost cells around it, as NAS MG exchanges them (comm3). After
// DDTBench.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

constexpr int kMost = 64;  // cells of the grid in every direction that the face does not give

// Cells of the face along x, which lies closest together, y and z; one across.
struct Face {
  int cells[3];
  int across;
};

Face face_of(int cells, const std::string& direction) {
  const int row = std::min(cells, kMost);
  const int side = side_of(cells);
  if (direction == "x") return {{1, side, elements_of(cells, side)}, 0};
  if (direction == "y") return {{row, 1, elements_of(cells, row)}, 1};
  return {{row, elements_of(cells, row), 1}, 2};
}

Shape mg_face(const CaseContext& context) {
  const Face face = face_of(elements_of(context.bytes, sizeof(double)), context.axis("face"));
  const auto [x, y, z] = face.cells;
  int grid[3];  // with ghost cells; MPI's order: z first
  for (int i = 0; i < 3; ++i) grid[2 - i] = (i == face.across && i < 2 ? kMost : face.cells[i]) + 2;
  const int part[3] = {z, y, x};
  const int first[3] = {1, 1, 1};
  Shape shape{MPI_DATATYPE_NULL, {}};
  for (int k = 1; k <= z; ++k)
    for (int j = 1; j <= y; ++j)
      shape.pieces.push_back({sizeof(double) * ((std::size_t{1} * k * grid[1] + j) * grid[2] + 1),
                              sizeof(double) * x});
  MPI_Type_create_subarray(3, grid, part, first, MPI_ORDER_C, MPI_DOUBLE, &shape.type);
  return shape;
}

const Register nas_mg_entry(
    datatype({.name = "nas_mg",
              .summary = "time of one face of a grid of doubles one way, as NAS MG sends it: "
                         "MPI_Type_create_subarray",
              .smallest = 8},
             mg_face,
             {{"face",
               {"x", "y", "z"},
               "across which the neighbour is; x: blocks of one double, y and z: rows of 64"}}));

}  // namespace
}  // namespace nearpeak
