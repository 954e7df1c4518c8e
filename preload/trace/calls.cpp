// SPDX-License-Identifier: Apache-2.0
// Every MPI function that is counted, with the name of the library's: this one is loaded before it.

#include "trace/timed.hpp"

using namespace nearpeak::trace;

// NEARPEAK_REAL of a name that is put together.
#define REAL(name) NEARPEAK_REAL(name)
// The number of an operation, looked up once.
#define OPERATION(text, begins)                            \
  ([]() {                                                  \
    static const int number = operation((text), (begins)); \
    return number;                                         \
  }())

#define CALL(kind, function, text, parameters, arguments, ...) \
  ALSO_PROFILED(function)                                      \
  extern "C" int function parameters { DO_##kind(function, text, arguments, __VA_ARGS__) }

#define TIMED(function, text, begins, arguments, ...)                    \
  return timed(                                                          \
      OPERATION(text, begins), [&] { return REAL(function) arguments; }, \
      [&] { return __VA_ARGS__; });
#define DO_waits(function, text, arguments, ...) \
  TIMED(function, text, false, arguments, __VA_ARGS__)
#define DO_begins(function, text, arguments, ...) \
  TIMED(function, text, true, arguments, __VA_ARGS__)
// Before the call, which may give the requests other handles.
#define DO_starts(function, text, arguments, ...)                      \
  const Starts starts = __VA_ARGS__;                                   \
  return timed(                                                        \
      OPERATION(text, true), [&] { return REAL(function) arguments; }, \
      [&]() -> const Starts& { return starts; });
#define DO_tells(function, text, arguments, ...)                       \
  MPI_Status own_status;                                               \
  if (status == MPI_STATUS_IGNORE && counting()) status = &own_status; \
  TIMED(function, text, false, arguments, __VA_ARGS__)
// Before the call: another thread may get the handle from the next one.
#define DO_frees(function, text, arguments, ...) \
  __VA_ARGS__;                                   \
  TIMED(function, text, false, arguments, no_size())
#define DO_drops(function, text, arguments, ...) \
  __VA_ARGS__;                                   \
  return REAL(function) arguments;
#define DO_enters(function, text, arguments, ...)  \
  const int code = REAL(function) arguments;       \
  if (code == MPI_SUCCESS && !inside) __VA_ARGS__; \
  return code;
#define DO_leaves(function, text, arguments, ...) \
  if (!inside) __VA_ARGS__;                       \
  return REAL(function) arguments;

#include "calls/calls.inc"
