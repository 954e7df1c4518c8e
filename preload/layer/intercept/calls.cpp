// SPDX-License-Identifier: Apache-2.0
// Every function of MPI that moves data, waits or frees (calls/calls.inc), and some that ask
// (asked.inc), with the name of the library's: this one is loaded before it.

#include <concepts>
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

// Calls the error handler of the file, window or communicator of a refused call. Only a file has a
// type of its own in every ABI: other handles may be numbers.
template <auto kFunction, typename... Others>
void raise_of(For<kFunction>, int error, Others...) {
  raise(calls::comm_world(), error);
}
template <auto kFunction, std::same_as<MPI_File> File, typename... Others>
void raise_of(For<kFunction>, int error, File file, Others...) {
  NEARPEAK_REAL(MPI_File_call_errhandler)(file, error);
}
inline void raise_of(For<&MPI_Win_attach>, int error, MPI_Win window, void*, MPI_Aint) {
  NEARPEAK_REAL(MPI_Win_call_errhandler)(window, error);
}
#if NEARPEAK_MPI_LEVEL >= 40
#define RAISES_OF_COMM(function, constness)                                                      \
  inline void raise_of(For<&function>, int error, constness void*, int, MPI_Count, MPI_Datatype, \
                       int, int, MPI_Comm comm, MPI_Info, MPI_Request*) {                        \
    raise(comm, error);                                                                          \
  }
RAISES_OF_COMM(MPI_Psend_init, const)
RAISES_OF_COMM(MPI_Precv_init, )
#undef RAISES_OF_COMM
#endif

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
        if (world.ended && any_on_device(arguments...)) return refused(kAtEnd, arguments...);
        return real(arguments...);
      } else {
        if ((world.on || world.ended) && any_on_device(arguments...))
          return refused(world.on ? kWithDevice : kAtEnd, arguments...);
        return real(arguments...);
      }
    } catch (const std::exception& error) {
      end_job(std::string(name) + ": " + error.what());
    }
  }

 private:
  template <typename... Arguments>
  int refused(const char* what, Arguments... arguments) const {
    constexpr int kError = error_of<kFunction>();
    refuse(name, what);
    raise_of(For<kFunction>{}, kError, arguments...);
    return kError;
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
