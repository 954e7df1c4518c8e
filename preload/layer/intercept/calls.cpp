// SPDX-License-Identifier: Apache-2.0
// Every function of MPI that moves data, waits or frees (calls/calls.inc), and some that ask
// (asked.inc), with the name of the library's: this one is loaded before it.

#include <concepts>
#include <exception>
#include <type_traits>

#include "accel/visit.hpp"
#include "layer/intercept/interceptions.hpp"
#include "layer/intercept/waits.hpp"

namespace nearpeak::layer {
namespace {

template <typename Argument>
constexpr bool is_buffer = std::is_same_v<Argument, void*> || std::is_same_v<Argument, const void*>;

// Of a buffer and what a call is told of it: `n` of a type, `n` in so many parts, or nothing.
template <std::integral Number, std::same_as<MPI_Datatype> Type, typename... Others>
bool buffer_on_device(const void* data, Number n, Type type, Others...) {
  return find(data, n, type).on_device;
}
template <std::same_as<int> Parts, std::same_as<MPI_Count> Number, std::same_as<MPI_Datatype> Type,
          typename... Others>
bool buffer_on_device(const void* data, Parts parts, Number n, Type type, Others...) {
  return find(data, parts * n, type).on_device;
}

bool any_on_device() { return false; }
template <typename Argument, typename... Others>
bool any_on_device(Argument argument, Others... others) {
  if constexpr (is_buffer<Argument>) {
    if constexpr (requires { buffer_on_device(argument, others...); }) {
      if (!is_in_place(argument) && buffer_on_device(argument, others...)) return true;
    } else if (find(argument).on_device) {
      return true;
    }
  }
  return any_on_device(others...);
}

// The error class of a buffer that is refused.
template <auto kFunction>
constexpr int error_of() {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}
#define REFUSES_BUFFER(function)        \
  template <>                           \
  constexpr int error_of<&function>() { \
    return MPI_ERR_BUFFER;              \
  }
REFUSES_BUFFER(MPI_Buffer_attach)
#if NEARPEAK_MPI_LEVEL >= 41
REFUSES_BUFFER(MPI_Comm_attach_buffer)
REFUSES_BUFFER(MPI_Session_attach_buffer)
#endif
#if NEARPEAK_LARGE_COUNTS
REFUSES_BUFFER(MPI_Buffer_attach_c)
#if NEARPEAK_MPI_LEVEL >= 41
REFUSES_BUFFER(MPI_Comm_attach_buffer_c)
REFUSES_BUFFER(MPI_Session_attach_buffer_c)
#endif
#endif
#undef REFUSES_BUFFER

struct Nothing {};

template <auto kFunction, bool kWaits>
struct Call {
  const char* name;
  decltype(kFunction) real;

  template <typename... Arguments>
  int operator()(Arguments... arguments) const {
    const Visit visit;
    try {
      [[maybe_unused]] const std::conditional_t<kWaits, HandingOver, Nothing> waiting{};
      if constexpr (requires { intercept_at_start(For<kFunction>{}, arguments...); }) {
        return intercept_at_start(For<kFunction>{}, arguments...);
      } else if constexpr (requires { intercept(For<kFunction>{}, arguments...); }) {
        if (world.on) return intercept(For<kFunction>{}, arguments...);
        if (world.ended && any_on_device(arguments...))
          return refuse(name, kAtEnd, error_of<kFunction>());
        return real(arguments...);
      } else {
        if ((world.on || world.ended) && any_on_device(arguments...))
          return refuse(name, world.on ? kWithDevice : kAtEnd, error_of<kFunction>());
        return real(arguments...);
      }
    } catch (const std::exception& error) {
      end_job(std::string(name) + ": " + error.what());
    }
  }
};

}  // namespace
}  // namespace nearpeak::layer

#define CALL(kind, function, text, parameters, arguments, ...)      \
  ALWAYS_PROFILED(function)                                         \
  extern "C" int function parameters {                              \
    using namespace nearpeak::layer;                                \
    return Call<&function, waits_in_library(CallKind::kind, text)>{ \
        text, NEARPEAK_REAL_FOR(function)} arguments;               \
  }

#include "calls/calls.inc"
#include "layer/intercept/asked.inc"
