// SPDX-License-Identifier: Apache-2.0
// Every MPI function that is counted, with the name of the library's: this one is loaded before it.

#include "trace/timed.hpp"

using namespace nearpeak::trace;

#define UNPACK(...) __VA_ARGS__
// NEARPEAK_REAL of a name that is put together.
#define REAL(name) NEARPEAK_REAL(name)

// Functions that take counts, as int and, from MPI 4 on, as MPI_Count too.
#define FUNCTION(name) MPI_##name
#define COUNT int
#define OFFSET int
#define WIDE_OFFSET int
// Open MPI 5 has what MPI 4 has but for MPI_Count.
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define HAS_MPI_4
#define PERSISTENT(name, parameters, arguments, ...)                         \
  NEARPEAK_TRACED(FUNCTION(name##_init), #name "_init",                      \
                  (UNPACK parameters, MPI_Info info, MPI_Request * request), \
                  (UNPACK arguments, info, request), __VA_ARGS__)
#else
#define PERSISTENT(name, parameters, arguments, ...)
#endif
#include "trace/counted.inc"
#undef FUNCTION
#undef COUNT
#undef OFFSET
#undef WIDE_OFFSET

#if MPI_VERSION >= 4
#define FUNCTION(name) MPI_##name##_c
#define COUNT MPI_Count
#define OFFSET MPI_Aint
#define WIDE_OFFSET MPI_Aint
#include "trace/counted.inc"
#endif

// Without a size.
#define TRACED(name, parameters, arguments) \
  NEARPEAK_TRACED(MPI_##name, #name, parameters, arguments, {})

// Waiting. A call that waits for several is one call.
TRACED(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
TRACED(Waitall, (int n, MPI_Request* requests, MPI_Status* statuses), (n, requests, statuses))
TRACED(Waitany, (int n, MPI_Request* requests, int* which, MPI_Status* status),
       (n, requests, which, status))
TRACED(Waitsome, (int n, MPI_Request* requests, int* done, int* which, MPI_Status* statuses),
       (n, requests, done, which, statuses))
TRACED(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status))
TRACED(Testall, (int n, MPI_Request* requests, int* flag, MPI_Status* statuses),
       (n, requests, flag, statuses))
TRACED(Testany, (int n, MPI_Request* requests, int* which, int* flag, MPI_Status* status),
       (n, requests, which, flag, status))
TRACED(Testsome, (int n, MPI_Request* requests, int* done, int* which, MPI_Status* statuses),
       (n, requests, done, which, statuses))
TRACED(Start, (MPI_Request * request), (request))
TRACED(Startall, (int n, MPI_Request* requests), (n, requests))
TRACED(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), (from, tag, comm, status))
TRACED(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
       (from, tag, comm, flag, status))
TRACED(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* one, MPI_Status* status),
       (from, tag, comm, one, status))
TRACED(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* one, MPI_Status* status),
       (from, tag, comm, flag, one, status))
TRACED(Barrier, (MPI_Comm comm), (comm))
TRACED(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))

#ifdef HAS_MPI_4
NEARPEAK_TRACED(MPI_Isendrecv, "Isendrecv",
                (const void* data, int n, MPI_Datatype type, int to, int tag, void* in, int m,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Request* request),
                (data, n, type, to, tag, in, m, in_type, from, in_tag, comm, request),
                message(data, n, type, to, comm))
NEARPEAK_TRACED(MPI_Psend_init, "Psend_init",
                (const void* data, int parts, MPI_Count n, MPI_Datatype type, int to, int tag,
                 MPI_Comm comm, MPI_Info info, MPI_Request* request),
                (data, parts, n, type, to, tag, comm, info, request),
                message(data, parts* n, type, to, comm))
NEARPEAK_TRACED(MPI_Precv_init, "Precv_init",
                (void* data, int parts, MPI_Count n, MPI_Datatype type, int from, int tag,
                 MPI_Comm comm, MPI_Info info, MPI_Request* request),
                (data, parts, n, type, from, tag, comm, info, request),
                message(data, parts* n, type, from, comm))
TRACED(Pready, (int part, MPI_Request request), (part, request))
TRACED(Pready_range, (int from, int to, MPI_Request request), (from, to, request))
TRACED(Parrived, (MPI_Request request, int part, int* flag), (request, part, flag))
#endif

// One-sided: a single number, and what brings ranks together.
NEARPEAK_TRACED(MPI_Fetch_and_op, "Fetch_and_op",
                (const void* data, void* in, MPI_Datatype type, int target, MPI_Aint place,
                 MPI_Op op, MPI_Win window),
                (data, in, type, target, place, op, window), access(in, 1, type, target, window))
NEARPEAK_TRACED(MPI_Compare_and_swap, "Compare_and_swap",
                (const void* data, const void* expected, void* in, MPI_Datatype type, int target,
                 MPI_Aint place, MPI_Win window),
                (data, expected, in, type, target, place, window),
                access(in, 1, type, target, window))
TRACED(Win_fence, (int assertion, MPI_Win window), (assertion, window))
TRACED(Win_start, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
TRACED(Win_complete, (MPI_Win window), (window))
TRACED(Win_post, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
TRACED(Win_wait, (MPI_Win window), (window))
TRACED(Win_test, (MPI_Win window, int* flag), (window, flag))
TRACED(Win_lock, (int kind, int rank, int assertion, MPI_Win window),
       (kind, rank, assertion, window))
TRACED(Win_unlock, (int rank, MPI_Win window), (rank, window))
TRACED(Win_lock_all, (int assertion, MPI_Win window), (assertion, window))
TRACED(Win_unlock_all, (MPI_Win window), (window))
TRACED(Win_flush, (int rank, MPI_Win window), (rank, window))
TRACED(Win_flush_all, (MPI_Win window), (window))
TRACED(Win_flush_local, (int rank, MPI_Win window), (rank, window))
TRACED(Win_flush_local_all, (MPI_Win window), (window))
TRACED(Win_sync, (MPI_Win window), (window))

// Communicators and windows come and go in calls of all their ranks.
TRACED(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
TRACED(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
TRACED(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* made),
       (comm, kind, key, info, made))
TRACED(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
TRACED(Cart_create,
       (MPI_Comm comm, int n, const int* sizes, const int* periods, int reorder, MPI_Comm* made),
       (comm, n, sizes, periods, reorder, made))
TRACED(Win_create,
       (void* data, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* made),
       (data, bytes, unit, info, comm, made))
TRACED(Win_allocate,
       (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* data, MPI_Win* made),
       (bytes, unit, info, comm, data, made))

namespace {

int forgetting(int status) {
  if (counting()) forget();
  return status;
}

// From here on this process counts.
int begun(int status) {
  if (status == MPI_SUCCESS && !inside) {
    int ranks = 0;
    NEARPEAK_REAL(MPI_Comm_size)(comm_world(), &ranks);
    begin(rank_in(comm_world()), ranks);
    if (counting()) learn_hosts();
  }
  return status;
}

}  // namespace

// Their handles may be those of others afterwards.
NEARPEAK_TRACED(MPI_Comm_free, "Comm_free", (MPI_Comm * comm), (comm), {(forget(), -1)})
NEARPEAK_TRACED(MPI_Comm_disconnect, "Comm_disconnect", (MPI_Comm * comm), (comm), {(forget(), -1)})
NEARPEAK_TRACED(MPI_Win_free, "Win_free", (MPI_Win * window), (window), {(forget(), -1)})
NEARPEAK_ALSO_PROFILED(MPI_Type_free)
extern "C" int MPI_Type_free(MPI_Datatype* type) {
  return forgetting(NEARPEAK_REAL(MPI_Type_free)(type));
}

NEARPEAK_ALSO_PROFILED(MPI_Init)
NEARPEAK_ALSO_PROFILED(MPI_Init_thread)
NEARPEAK_ALSO_PROFILED(MPI_Finalize)
extern "C" int MPI_Init(int* argc, char*** argv) {
  return begun(NEARPEAK_REAL(MPI_Init)(argc, argv));
}
extern "C" int MPI_Init_thread(int* argc, char*** argv, int wanted, int* given) {
  return begun(NEARPEAK_REAL(MPI_Init_thread)(argc, argv, wanted, given));
}
extern "C" int MPI_Finalize() {
  end();
  return NEARPEAK_REAL(MPI_Finalize)();
}
