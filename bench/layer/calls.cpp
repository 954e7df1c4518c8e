// SPDX-License-Identifier: Apache-2.0
// Every function of MPI that moves data, waits or frees (calls/calls.inc), and some that ask
// (asked.inc), with the name of the library's: this one is loaded before it.

#include <exception>
#include <type_traits>

#include "accel/visit.hpp"
#include "layer/taken.hpp"

namespace nearpeak::layer {
namespace {

template <typename Argument>
bool is_on_device(Argument argument) {
  if constexpr (std::is_same_v<Argument, void*> || std::is_same_v<Argument, const void*>)
    return find(argument).on_device;
  else
    return false;
}

template <auto kFunction>
struct Call {
  const char* name;
  decltype(kFunction) real;

  template <typename... Arguments>
  int operator()(Arguments... arguments) const {
    const Visit visit;
    try {
      if constexpr (requires { first(For<kFunction>{}, arguments...); }) {
        return first(For<kFunction>{}, arguments...);
      } else if constexpr (requires { done(For<kFunction>{}, arguments...); }) {
        if (world.on) return done(For<kFunction>{}, arguments...);
        if (world.ended && (is_on_device(arguments) || ...)) return refuse(name, kAtEnd);
        return real(arguments...);
      } else {
        if ((world.on || world.ended) && (is_on_device(arguments) || ...))
          return refuse(name, world.on ? kWithDevice : kAtEnd);
        return real(arguments...);
      }
    } catch (const std::exception& error) {
      end_job(std::string(name) + ": " + error.what());
    }
  }
};

}  // namespace
}  // namespace nearpeak::layer

#define CALL(kind, function, text, parameters, arguments, ...)                            \
  ALWAYS_PROFILED(function)                                                               \
  extern "C" int function parameters {                                                    \
    return nearpeak::layer::Call<&function>{text, NEARPEAK_REAL_FOR(function)} arguments; \
  }

#include "calls/calls.inc"
#include "layer/asked.inc"
