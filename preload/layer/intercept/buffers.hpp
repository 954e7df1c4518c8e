// SPDX-License-Identifier: Apache-2.0
// The buffers among the arguments of any call.
#pragma once

#include <concepts>
#include <type_traits>

#include "layer/collective/collective.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

template <typename Argument>
constexpr bool is_buffer = std::is_same_v<Argument, void*> || std::is_same_v<Argument, const void*>;

// Of a buffer and what a call is told of it: `n` of a type, `n` in so many parts, or nothing.
template <std::integral Number, std::same_as<MPI_Datatype> Type, typename... Others>
Found find_with(const void* data, Number n, Type type, Others...) {
  return find(data, n, type);
}
template <std::same_as<int> Parts, std::same_as<MPI_Count> Number, std::same_as<MPI_Datatype> Type,
          typename... Others>
Found find_with(const void* data, Parts parts, Number n, Type type, Others...) {
  return find(data, parts * n, type);
}

// Whether `what` is true of where one of them is. It is asked of no more. kTyped: with the types,
// by which the elements may lie elsewhere than the buffer does; all of them must be datatypes.
template <bool kTyped, typename What>
bool any_buffer(const What&) {
  return false;
}
template <bool kTyped, typename What, typename Argument, typename... Others>
bool any_buffer(const What& what, Argument argument, Others... others) {
  if constexpr (is_buffer<Argument>) {
    if constexpr (kTyped && requires { find_with(argument, others...); }) {
      if (!is_in_place(argument) && what(find_with(argument, others...))) return true;
    } else if (what(find(argument))) {
      return true;
    }
  }
  return any_buffer<kTyped>(what, others...);
}

}  // namespace nearpeak::layer
