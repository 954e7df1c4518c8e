// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/memory.hpp"
#include "trace/message.hpp"
#include "trace/real.hpp"
#include "trace/table.hpp"

namespace nearpeak::trace {

// Libraries call MPI in MPI: the outermost call alone is counted.
[[gnu::tls_model("initial-exec")]] inline thread_local bool inside = false;

// Does `call` and counts it as what `about` says afterwards.
template <typename Call, typename About>
int timed(int operation, const Call& call, const About& about) {
  if (inside || !counting()) return call();
  inside = true;
  const std::uint64_t from = ticks();
  const int status = call();
  const std::uint64_t to = ticks();
  const Message message = about();
  const bool device = message.data != nullptr && on_device(message.data, to);
  add(operation, message.bytes, device, message.peer, from, to);
  inside = false;
  return status;
}

}  // namespace nearpeak::trace

// The number of the operation in `text`, looked up once.
#define NEARPEAK_OPERATION(text)                                         \
  ([]() {                                                                \
    static const int number = ::nearpeak::trace::operation("MPI_" text); \
    return number;                                                       \
  }())

// The Fortran bindings of Open MPI call the functions of the profiling interface: of these, too,
// this library's are taken. Those of MPICH call the others.
#ifdef OMPI_MAJOR_VERSION
#define NEARPEAK_ALSO_PROFILED(name) NEARPEAK_ALIAS_OF(name)
#define NEARPEAK_ALIAS_OF(name) \
  extern "C" __attribute__((alias(#name), visibility("default"))) decltype(P##name) P##name;
#else
#define NEARPEAK_ALSO_PROFILED(name)
#endif

// Wraps a function: its parameters, how they are passed on, and the Message that it is.
#define NEARPEAK_TRACED(function, text, parameters, arguments, ...)                  \
  NEARPEAK_ALSO_PROFILED(function)                                                   \
  extern "C" int function parameters {                                               \
    return ::nearpeak::trace::timed(                                                 \
        NEARPEAK_OPERATION(text), [&] { return NEARPEAK_REAL(function) arguments; }, \
        [&]() -> ::nearpeak::trace::Message { return __VA_ARGS__; });                \
  }
