// SPDX-License-Identifier: Apache-2.0
// The sweep of TEMPI (Pearson et al., HPDC 2021): equal blocks, one every 512 bytes.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

constexpr int kStride = 512;

Shape vector(const CaseContext& context) {
  const std::size_t block = std::stoul(context.axis("block"));
  const int count = elements_of(context.bytes, block);
  Shape shape{MPI_DATATYPE_NULL, even_pieces(count, block, kStride)};
  MPI_Type_vector(count, static_cast<int>(block), kStride, MPI_BYTE, &shape.type);
  return shape;
}

const Register vector_entry(
    datatype({.name = "vector",
              .summary = "time of one message of equal blocks one way, one block every 512 bytes: "
                         "MPI_Type_vector",
              .usual = true},
             vector,
             {{"block",
               {"8", "1", "2", "4", "16", "32", "64", "128", "256", "512"},
               "bytes of each block; 512: they leave no gaps"}}));

}  // namespace
}  // namespace nearpeak
