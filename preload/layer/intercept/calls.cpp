// SPDX-License-Identifier: Apache-2.0
// Every function of MPI that moves data, waits or frees (calls/calls.inc), and some that ask
// (asked.inc), with the name of the library's: this one is loaded before it.

#include <exception>
#include <type_traits>

#include "accel/visit.hpp"
#include "layer/intercept/buffers.hpp"
#include "layer/intercept/default_stream.hpp"
#include "layer/intercept/interceptions.hpp"
#include "layer/intercept/waits.hpp"

namespace nearpeak::layer {
namespace {

template <typename... Arguments>
bool any_on_device(Arguments... arguments) {
  return any_buffer<true>([](const Found& found) { return found.on_device; }, arguments...);
}

// The file among the arguments of a call; null where there is none.
template <typename... Arguments>
const MPI_File* file_of(const Arguments&... arguments) {
  const MPI_File* file = nullptr;
  [[maybe_unused]] const auto look = [&file](const auto& argument) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(argument)>, MPI_File>)
      file = &argument;
  };
  (look(arguments), ...);
  return file;
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
      if (world.settings.awaits_default_stream && world.on) [[unlikely]]
        await_default_stream(For<kFunction>{}, name, arguments...);
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
          return refuse(name, world.on ? kWithDevice : kAtEnd, error_of<kFunction>(),
                        file_of(arguments...));
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
