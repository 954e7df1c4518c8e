// SPDX-License-Identifier: Apache-2.0
// Single floats of an unstructured mesh, as SPECFEM3D_GLOBE sends those of its outer core. After
// DDTBench.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

Shape points(const CaseContext& context) {
  const std::vector<int> places = irregular_places(elements_of(context.bytes, sizeof(float)));
  Shape shape{MPI_DATATYPE_NULL, {}};
  for (const int place : places) shape.pieces.push_back({place * sizeof(float), sizeof(float)});
  MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), MPI_FLOAT,
                                &shape.type);
  return shape;
}

const Register specfem_entry(
    datatype({.name = "specfem",
              .summary = "time of points of an unstructured mesh one way, as SPECFEM3D sends them: "
                         "MPI_Type_create_indexed_block",
              .smallest = sizeof(float)},
             points));

}  // namespace
}  // namespace nearpeak
