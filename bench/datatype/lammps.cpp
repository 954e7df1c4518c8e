// SPDX-License-Identifier: Apache-2.0
// Atoms out of arrays of their properties, as LAMMPS sends those near a border (full style): a
// struct of indexed blocks. After DDTBench.
#include <array>

#include "datatype/datatype.hpp"

namespace nearpeak {
namespace {

struct Property {
  int numbers;  // of an atom
  MPI_Datatype type;
  std::size_t bytes;  // of each
};

// Position, charge, tag, type, mask, molecule.
constexpr int kProperties = 6;
constexpr std::size_t kAtom = 4 * sizeof(double) + 4 * sizeof(int);
std::array<Property, kProperties> properties() {
  const Property whole{1, MPI_INT, sizeof(int)};
  return {{{3, MPI_DOUBLE, sizeof(double)},
           {1, MPI_DOUBLE, sizeof(double)},
           whole,
           whole,
           whole,
           whole}};
}

Shape atoms(const CaseContext& context) {
  const std::vector<int> chosen = irregular_places(elements_of(context.bytes, kAtom));
  const int count = static_cast<int>(chosen.size());
  const std::size_t all = static_cast<std::size_t>(chosen.back()) + 1;
  Shape shape{MPI_DATATYPE_NULL, {}};
  const std::vector<int> ones(kProperties, 1);
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> parts;
  std::size_t place = 0;
  for (const Property& property : properties()) {
    std::vector<int> first;
    for (const int atom : chosen) first.push_back(atom * property.numbers);
    places.push_back(static_cast<MPI_Aint>(place));
    MPI_Type_create_indexed_block(count, property.numbers, first.data(), property.type,
                                  &parts.emplace_back());
    const std::size_t bytes = property.numbers * property.bytes;
    for (const int atom : chosen) shape.pieces.push_back({place + atom * bytes, bytes});
    place += all * bytes;
  }
  MPI_Type_create_struct(kProperties, ones.data(), places.data(), parts.data(), &shape.type);
  for (MPI_Datatype& part : parts) MPI_Type_free(&part);
  return shape;
}

const Register lammps_entry(
    datatype({.name = "lammps",
              .summary = "time of the atoms near a border one way, as LAMMPS sends them: "
                         "MPI_Type_create_struct of indexed blocks",
              .smallest = kAtom},
             atoms));

}  // namespace
}  // namespace nearpeak
