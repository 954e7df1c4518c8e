// SPDX-License-Identifier: Apache-2.0
// A face of a grid of five doubles a cell, as NAS LU exchanges them (exchange_3). After DDTBench.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

constexpr std::size_t kCell = 5 * sizeof(double);
constexpr int kGridRow = 64;  // cells of the grid from one of the face to the next

Shape lu_face(const CaseContext& context) {
  const int cells = elements_of(context.bytes, kCell);
  Shape shape{MPI_DATATYPE_NULL, even_pieces(cells, kCell, kGridRow * kCell)};
  MPI_Datatype cell = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(5, MPI_DOUBLE, &cell);
  MPI_Type_vector(cells, 1, kGridRow, cell, &shape.type);
  MPI_Type_free(&cell);
  return shape;
}

const Register nas_lu_entry(
    datatype({.name = "nas_lu",
              .summary = "time of one face of cells of five doubles one way, as NAS LU sends it: "
                         "MPI_Type_vector",
              .smallest = kCell},
             lu_face));

}  // namespace
}  // namespace nearpeak
