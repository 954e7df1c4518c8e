// SPDX-License-Identifier: Apache-2.0
// Blocks of unlike lengths at unlike distances: one to eight doubles each.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

constexpr int kLongest = 8;

Shape blocks(const CaseContext& context) {
  int left = elements_of(context.bytes, sizeof(double));
  std::size_t place = 0;
  Shape shape{MPI_DATATYPE_NULL, {}};
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  for (int i = 0; left > 0; ++i) {
    const int length = std::min(left, 1 + irregular(i, kLongest));
    shape.pieces.push_back({place, length * sizeof(double)});
    lengths.push_back(length);
    places.push_back(static_cast<MPI_Aint>(place));
    place += (length + 1 + irregular(i + 1, kLongest)) * sizeof(double);
    left -= length;
  }
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                           MPI_DOUBLE, &shape.type);
  return shape;
}

const Register hindexed_entry(
    datatype({.name = "hindexed",
              .summary = "time of one message of blocks of unlike lengths one way: "
                         "MPI_Type_create_hindexed",
              .smallest = sizeof(double)},
             blocks));

}  // namespace
}  // namespace nearpeak
