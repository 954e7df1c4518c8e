// SPDX-License-Identifier: Apache-2.0
#include "layer/datatype/contents.hpp"

#include <algorithm>
#include <cstddef>

// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {
namespace {

struct Shape {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large = 0;  // counts
  MPI_Count inner = 0;  // types
  int combiner = 0;
};

// MPI_Type_get_envelope is an error for a type that was made with large counts.
Shape shape_of(MPI_Datatype type) {
  Shape shape;
#if NEARPEAK_LARGE_COUNTS
  NEARPEAK_REAL(MPI_Type_get_envelope_c)
  (type, &shape.integers, &shape.addresses, &shape.large, &shape.inner, &shape.combiner);
#else
  int integers = 0, addresses = 0, inner = 0;
  NEARPEAK_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &inner, &shape.combiner);
  shape.integers = integers;
  shape.addresses = addresses;
  shape.inner = inner;
#endif
#if NEARPEAK_MPI_LEVEL >= 41
  if (shape.combiner == MPI_COMBINER_VALUE_INDEX) shape.inner = 0;  // one of the library's own
#endif
  return shape;
}

// How many of the large counts of a type come before those that are addresses otherwise.
std::size_t counts_before_places(int combiner, const std::vector<MPI_Count>& large) {
  if (combiner == MPI_COMBINER_RESIZED) return 0;
  if (combiner == MPI_COMBINER_HVECTOR || combiner == MPI_COMBINER_HINDEXED_BLOCK) return 2;
  if (combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_STRUCT)
    return 1 + static_cast<std::size_t>(large[0]);
  return large.size();
}

}  // namespace

Contents::Contents(MPI_Datatype type) {
  const Shape shape = shape_of(type);
  combiner = shape.combiner;
  if (shape.inner == 0) return;
  std::vector<int> integers(static_cast<std::size_t>(shape.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(shape.addresses));
  of.resize(static_cast<std::size_t>(shape.inner));
#if NEARPEAK_LARGE_COUNTS
  std::vector<MPI_Count> large(static_cast<std::size_t>(shape.large));
  NEARPEAK_REAL(MPI_Type_get_contents_c)
  (type, shape.integers, shape.addresses, shape.large, shape.inner, integers.data(),
   addresses.data(), large.data(), of.data());
#else
  const std::vector<MPI_Count> large;
  NEARPEAK_REAL(MPI_Type_get_contents)
  (type, static_cast<int>(shape.integers), static_cast<int>(shape.addresses),
   static_cast<int>(shape.inner), integers.data(), addresses.data(), of.data());
#endif
  numbers.assign(integers.begin(), integers.end());
  places.assign(addresses.begin(), addresses.end());
  if (!large.empty()) {
    const auto middle = large.begin() + counts_before_places(combiner, large);
    // Of a subarray: behind the number of its dimensions, and before its order.
    numbers.insert(numbers.begin() + std::min<std::ptrdiff_t>(1, std::ssize(numbers)),
                   large.begin(), middle);
    places.insert(places.end(), middle, large.end());
  }
  // The library's own are themselves, the others copies.
  for (const MPI_Datatype each : of)
    if (shape_of(each).inner > 0) copies_.push_back(each);
}

Contents::~Contents() {
  for (MPI_Datatype& each : copies_) NEARPEAK_REAL(MPI_Type_free)(&each);
}

}  // namespace nearpeak::layer
