// SPDX-License-Identifier: Apache-2.0
// Doubles that lie together, which both ranks describe by datatypes of their own: a library that
// does not see through one packs for nothing.
#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all{"contiguous", "vector", "indexed", "struct"};
  return all;
}

// With one double in each block.
Shape doubles(const CaseContext& context) {
  const int count = elements_of(context.bytes, sizeof(double));
  const std::string& kind = context.axis(context.group.leads() ? "first" : "second");
  Shape shape{MPI_DATATYPE_NULL, even_pieces(count, sizeof(double), sizeof(double))};
  const std::vector<int> ones(static_cast<std::size_t>(count), 1);
  if (kind == "contiguous") MPI_Type_contiguous(count, MPI_DOUBLE, &shape.type);
  if (kind == "vector") MPI_Type_vector(count, 1, 1, MPI_DOUBLE, &shape.type);
  if (kind == "indexed") {
    std::vector<int> places;
    for (int i = 0; i < count; ++i) places.push_back(i);
    MPI_Type_indexed(count, ones.data(), places.data(), MPI_DOUBLE, &shape.type);
  }
  if (kind == "struct") {
    std::vector<MPI_Aint> places;
    for (const Piece& piece : shape.pieces) places.push_back(static_cast<MPI_Aint>(piece.offset));
    const std::vector<MPI_Datatype> types(ones.size(), MPI_DOUBLE);
    MPI_Type_create_struct(count, ones.data(), places.data(), types.data(), &shape.type);
  }
  return shape;
}

const Register contiguous_entry(datatype(
    {.name = "contiguous",
     .summary = "time of one message of doubles that lie together one way, described by any pair "
                "of datatypes",
     .smallest = sizeof(double)},
    doubles,
    {{"first", kinds(), "the datatype of rank 0: MPI_Type_contiguous, MPI_Type_vector, ..."},
     {"second", kinds(), "the datatype of rank 1"}}));

}  // namespace
}  // namespace nearpeak
