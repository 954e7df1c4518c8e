// SPDX-License-Identifier: Apache-2.0
// The even sites of a face of a lattice of 4 x 4 x 4 x nt sites, as MILC sends them to its
// neighbour below in z: in every time slice a block of vectors of three complex numbers. After
// DDTBench.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

constexpr int kSites = 4 * 4 / 2;  // of a block
constexpr int kBlocks = 4;         // of a time slice
constexpr std::size_t kVector = 6 * sizeof(float);

Shape face(const CaseContext& context) {
  const int slices = elements_of(context.bytes, kSites * kVector);
  Shape shape{MPI_DATATYPE_NULL, even_pieces(slices, kSites * kVector, kBlocks * kSites * kVector)};
  MPI_Datatype vector = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(6, MPI_FLOAT, &vector);
  MPI_Type_vector(slices, kSites, kBlocks * kSites, vector, &shape.type);
  MPI_Type_free(&vector);
  return shape;
}

const Register milc_entry(
    datatype({.name = "milc",
              .summary = "time of one face of a lattice of vectors one way, as MILC sends it: "
                         "MPI_Type_vector",
              .smallest = kSites * kVector},
             face));

}  // namespace
}  // namespace nearpeak
