// SPDX-License-Identifier: Apache-2.0
#include "layer/types.hpp"

#include <climits>
#include <cstdint>
#include <cstring>
#include <vector>

#include "calls/handles.hpp"
#include "layer/world.hpp"

namespace nearpeak::layer {
namespace {

auto& types = *new calls::Handles<MPI_Datatype, Type>;

// Whether one of a type without gaps is packed as it lies there: its parts may be in another order.
// It is tried with bytes of which no eight are alike.
bool in_order(MPI_Datatype type, std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  if (bytes > kMost) return false;
  std::vector<std::uint64_t> laid(bytes / 8 + 1), packed(laid.size());
  std::uint64_t state = 1;
  for (std::uint64_t& word : laid)
    word = state = state * 6364136223846793005U + 1442695040888963407U;
  int place = 0;
  NEARPEAK_REAL(MPI_Pack)
  (laid.data(), 1, type, packed.data(), static_cast<int>(8 * packed.size()), &place, world.own);
  return static_cast<std::size_t>(place) == bytes &&
         std::memcmp(laid.data(), packed.data(), bytes) == 0;
}

Type found(MPI_Datatype type) {
  Type out;
  MPI_Count low = 0, extent = 0, true_low = 0, true_extent = 0;
  NEARPEAK_REAL(MPI_Type_size_x)(type, &out.bytes);
  NEARPEAK_REAL(MPI_Type_get_extent_x)(type, &low, &extent);
  NEARPEAK_REAL(MPI_Type_get_true_extent_x)(type, &true_low, &true_extent);
  int integers = 0, addresses = 0, inner = 0, combiner = 0;
  NEARPEAK_REAL(MPI_Type_get_envelope)(type, &integers, &addresses, &inner, &combiner);
  out.named = combiner == MPI_COMBINER_NAMED;
  const bool whole = low == 0 && true_low == 0 && extent == out.bytes && true_extent == out.bytes;
  out.dense = out.bytes == 0 ||
              (whole && (out.named || in_order(type, static_cast<std::size_t>(out.bytes))));
  return out;
}

}  // namespace

const Type& type_of(MPI_Datatype type) {
  if (const Type* const known = types.find(type)) return *known;
  return *types.put(type, found(type));
}

void forget_type(MPI_Datatype type) { types.drop(type); }

// A message to itself: MPI_Unpack takes whole elements alone.
void unpack(const void* packed, std::size_t bytes, void* data, MPI_Count n, MPI_Datatype type) {
  if (bytes > INT_MAX || n > INT_MAX)
    end_job("a message of more than 2 GiB from a device is not received into a type with gaps");
  NEARPEAK_REAL(MPI_Sendrecv)
  (packed, static_cast<int>(bytes), calls::byte_type(), 0, 0, data, static_cast<int>(n), type, 0, 0,
   world.own, MPI_STATUS_IGNORE);
}

}  // namespace nearpeak::layer
