// SPDX-License-Identifier: Apache-2.0
// What is done in the place of functions of windows that take no counts.
#pragma once

#include "layer/intercept/for.hpp"
#include "layer/window/access.hpp"
#include "layer/window/window.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {

inline int intercept(For<&MPI_Fetch_and_op>, const void* data, void* in, MPI_Datatype type,
                     int target, MPI_Aint place, MPI_Op op, MPI_Win window) {
  return accessed(
      {Form::kAccumulate, {window, target, place, 1, type}, {data, 1, type}, {in, 1, type}, {}, op},
      nullptr, [&](const Places& to) {
        return NEARPEAK_REAL(MPI_Fetch_and_op)(to[0], writable(to[1]), type, target, place, op,
                                               window);
      });
}
inline int intercept(For<&MPI_Compare_and_swap>, const void* data, const void* expected, void* in,
                     MPI_Datatype type, int target, MPI_Aint place, MPI_Win window) {
  return accessed({Form::kCompareAndSwap,
                   {window, target, place, 1, type},
                   {data, 1, type},
                   {in, 1, type},
                   {expected, 1, type},
                   {}},
                  nullptr, [&](const Places& to) {
                    return NEARPEAK_REAL(MPI_Compare_and_swap)(to[0], to[2], writable(to[1]), type,
                                                               target, place, window);
                  });
}

// Calls that complete accesses.
inline int intercept(For<&MPI_Win_fence>, int assertion, MPI_Win window) {
  return fence_window(assertion, window);
}
#define COMPLETES(name)                                                                  \
  inline int intercept(For<&MPI_Win_##name>, MPI_Win window) {                           \
    return complete_accesses(window, Window::kAll,                                       \
                             [&] { return NEARPEAK_REAL_FOR(MPI_Win_##name)(window); }); \
  }
#define COMPLETES_ONE(name)                                                                    \
  inline int intercept(For<&MPI_Win_##name>, int rank, MPI_Win window) {                       \
    return complete_accesses(window, rank,                                                     \
                             [&] { return NEARPEAK_REAL_FOR(MPI_Win_##name)(rank, window); }); \
  }
COMPLETES(complete)
COMPLETES(unlock_all)
COMPLETES(flush_all)
COMPLETES(flush_local_all)
COMPLETES_ONE(unlock)
COMPLETES_ONE(flush)
COMPLETES_ONE(flush_local)
#undef COMPLETES
#undef COMPLETES_ONE

inline int intercept(For<&MPI_Win_free>, MPI_Win* window) { return free_window(window); }

// What is asked of one.
inline int intercept(For<&MPI_Win_get_attr>, MPI_Win window, int key, void* value, int* flag) {
  return get_window_attribute(window, key, value, flag);
}
inline int intercept(For<&MPI_Win_shared_query>, MPI_Win window, int rank, MPI_Aint* bytes,
                     int* unit, void* base) {
  MPI_Count known = 0;
  if (!query_window(window, rank, bytes, &known, base))
    return NEARPEAK_REAL(MPI_Win_shared_query)(window, rank, bytes, unit, base);
  *unit = static_cast<int>(known);
  return MPI_SUCCESS;
}
#if NEARPEAK_LARGE_COUNTS
inline int intercept(For<&MPI_Win_shared_query_c>, MPI_Win window, int rank, MPI_Aint* bytes,
                     MPI_Aint* unit, void* base) {
  MPI_Count known = 0;
  if (!query_window(window, rank, bytes, &known, base))
    return NEARPEAK_REAL(MPI_Win_shared_query_c)(window, rank, bytes, unit, base);
  *unit = static_cast<MPI_Aint>(known);
  return MPI_SUCCESS;
}
#endif

}  // namespace nearpeak::layer
