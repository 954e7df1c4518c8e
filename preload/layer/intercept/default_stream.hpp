// SPDX-License-Identifier: Apache-2.0
// NEARPEAK_LAYER_STREAM=legacy: what the application has put into the default stream is done before
// a call uses its memory. A call that does not wait has its buffers from then on, so there is
// nothing to wait for in the call that completes it.
#pragma once

#include <string_view>
#include <tuple>

#include "layer/intercept/buffers.hpp"
#include "layer/intercept/for.hpp"
#include "layer/window/window.hpp"
#include "layer/world/world.hpp"

namespace nearpeak::layer {

// Calls from which on other ranks may use this rank's memory of a window, their last argument.
template <auto kFunction>
constexpr bool opens_window = false;
template <>
inline constexpr bool opens_window<&MPI_Win_fence> = true;
template <>
inline constexpr bool opens_window<&MPI_Win_post> = true;
template <>
inline constexpr bool opens_window<&MPI_Win_lock> = true;
template <>
inline constexpr bool opens_window<&MPI_Win_lock_all> = true;
template <>
inline constexpr bool opens_window<&MPI_Win_unlock> = true;
template <>
inline constexpr bool opens_window<&MPI_Win_unlock_all> = true;
template <>
inline constexpr bool opens_window<&MPI_Win_sync> = true;

// Persistent operations, whose buffers are no arguments.
template <auto kFunction>
constexpr bool starts = false;
template <>
inline constexpr bool starts<&MPI_Start> = true;
template <>
inline constexpr bool starts<&MPI_Startall> = true;

// Whether what stands behind a buffer is its count and datatype. Only the root need give all types
// of gathers and scatters; of the others it is something else, which in MPICH's ABI is an int as
// well.
inline bool gives_types(std::string_view call) {
  for (const char* const part :
       {"ather", "catter", "Fetch_and_op", "Compare_and_swap", "Win_create"})
    if (call.find(part) != std::string_view::npos) return false;
  return true;
}

template <auto kFunction, typename... Arguments>
void await_default_stream(For<kFunction>, std::string_view call, const Arguments&... arguments) {
  if constexpr (opens_window<kFunction>) {
    const Window* const known = known_window(
        std::get<sizeof...(Arguments) - 1>(std::tuple<const Arguments&...>(arguments...)));
    if (known != nullptr && known->base != nullptr) world.default_stream.await(known->base);
  } else if constexpr (starts<kFunction>) {
    world.default_stream.await_all();
  } else {
    const auto await = [](const Found& found) {
      if (found.on_device) world.default_stream.await(found.at);
      return false;
    };
    if (gives_types(call))
      any_buffer<true>(await, arguments...);
    else
      any_buffer<false>(await, arguments...);
  }
}

}  // namespace nearpeak::layer
