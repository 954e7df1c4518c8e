// SPDX-License-Identifier: Apache-2.0
// The halo of several fields of floats in one message, two cells wide in the direction that lies
// closest together, as WRF exchanges them: a struct of subarrays. After DDTBench.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

constexpr int kFields = 4;
constexpr int kWide = 2;
constexpr int kRow = 64 + 2 * kWide;  // cells of a row, with its halos
constexpr int kMostLevels = 32;
constexpr std::size_t kOfAColumn = kFields * kWide * sizeof(float);

Shape halo(const CaseContext& context) {
  const int rows = elements_of(context.bytes, kOfAColumn);
  const int levels = std::min(rows, kMostLevels);
  const int field[3] = {elements_of(rows, levels), levels, kRow};
  const int part[3] = {field[0], field[1], kWide};
  const int first[3] = {0, 0, kWide};
  const std::size_t field_rows = std::size_t{1} * field[0] * field[1];

  Shape shape{MPI_DATATYPE_NULL, {}};
  for (std::size_t row = 0; row < kFields * field_rows; ++row)
    shape.pieces.push_back({sizeof(float) * (row * kRow + kWide), sizeof(float) * kWide});
  MPI_Datatype halo = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(3, field, part, first, MPI_ORDER_C, MPI_FLOAT, &halo);
  int ones[kFields];
  MPI_Aint places[kFields];
  MPI_Datatype halos[kFields];
  for (int i = 0; i < kFields; ++i) {
    ones[i] = 1;
    places[i] = static_cast<MPI_Aint>(i * field_rows * kRow * sizeof(float));
    halos[i] = halo;
  }
  MPI_Type_create_struct(kFields, ones, places, halos, &shape.type);
  MPI_Type_free(&halo);
  return shape;
}

const Register wrf_entry(
    datatype({.name = "wrf",
              .summary = "time of the halo of four fields of floats one way, as WRF sends it: "
                         "MPI_Type_create_struct of subarrays",
              .smallest = kOfAColumn},
             halo));

}  // namespace
}  // namespace nearpeak
