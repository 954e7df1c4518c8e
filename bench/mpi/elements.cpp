// SPDX-License-Identifier: Apache-2.0
#include "mpi/elements.hpp"

#include <array>
#include <map>

#include "mpi/errors.hpp"

namespace nearpeak {
namespace {

const std::map<std::string, MPI_Datatype>& mpi_types() {
  static const std::map<std::string, MPI_Datatype> types{
      {"float", MPI_FLOAT},        {"int", MPI_INT}, {"double", MPI_DOUBLE}, {"char", MPI_CHAR},
#ifdef MPIX_C_FLOAT16
      {"half", MPIX_C_FLOAT16},
#endif
#ifdef MPIX_BFLOAT16
      {"bfloat16", MPIX_BFLOAT16},
#endif
  };
  return types;
}

// Whether the library that was loaded adds up numbers of a type, which its mpi.h may have from
// another.
bool adds_up(MPI_Datatype type) {
  const ErrorsReturned errors;
  std::array<double, 2> numbers{};  // room for one of any type
  return MPI_Reduce_local(&numbers[0], &numbers[1], 1, type, MPI_SUM) == MPI_SUCCESS;
}

}  // namespace

Axis type_axis() {
  return type_axis([](const std::string& type) { return mpi_types().contains(type); });
}

Elements::Elements(const CaseContext& context) : Addends(context), mpi(mpi_types().at(type.name)) {
  if (!adds_up(mpi)) throw Unfit("the library has no sums of " + type.name);
}

}  // namespace nearpeak
