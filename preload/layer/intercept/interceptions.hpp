// SPDX-License-Identifier: Apache-2.0
// Every function of MPI that the layer does something in, by intercept(For<&MPI_...>, ...).
// docs/contributing/layer-design.md lists them, and a test compares.
#pragma once

#include "layer/collective/begun.hpp"
#include "layer/collective/circle.hpp"
#include "layer/collective/collective.hpp"
#include "layer/collective/direct.hpp"
#include "layer/datatype/freeing.hpp"
#include "layer/datatype/held_frees.hpp"
#include "layer/datatype/types.hpp"
#include "layer/intercept/for.hpp"
#include "layer/intercept/support.hpp"
#include "layer/intercept/window_calls.hpp"
#include "layer/protocol/complete.hpp"
#include "layer/protocol/handshake.hpp"
#include "layer/protocol/probe.hpp"
#include "layer/protocol/receive.hpp"
#include "layer/protocol/requests.hpp"
#include "layer/protocol/send.hpp"
#include "layer/protocol/sendrecv.hpp"
#include "layer/window/access.hpp"
#include "layer/world/world.hpp"
// Behind mpi.h.
#include "calls/level.hpp"

namespace nearpeak::layer {

inline constexpr char kWithDevice[] = "with memory of a device";
inline constexpr char kAtEnd[] = "with memory of a device in MPI_Finalize or after it";

// Collectives that direct.inc does not have: they go by shadows.
template <auto kFunction, typename... Arguments>
bool direct(For<kFunction>, CollectiveForm&, const FoundBuffers&, const Arguments&...) {
  return false;
}

#define FUNCTION(name) MPI_##name
#define COUNT int
#define OFFSET int
#define UNIT int
#define PACKED MPI_Aint
#include "layer/intercept/access.inc"
#include "layer/intercept/direct.inc"
// They ask those.
#include "layer/intercept/collectives.inc"
#include "layer/intercept/counted.inc"
#undef FUNCTION
#undef COUNT
#undef OFFSET
#undef UNIT
#undef PACKED
#if NEARPEAK_LARGE_COUNTS
#define FUNCTION(name) MPI_##name##_c
#define COUNT MPI_Count
#define OFFSET MPI_Aint
#define UNIT MPI_Aint
#define PACKED MPI_Count
#include "layer/intercept/access.inc"
#include "layer/intercept/direct.inc"
// They ask those.
#include "layer/intercept/collectives.inc"
#include "layer/intercept/counted.inc"
#undef FUNCTION
#undef COUNT
#undef OFFSET
#undef UNIT
#undef PACKED
#endif

inline int intercept(For<&MPI_Wait>, MPI_Request* request, MPI_Status* status) {
  return wait(request, status);
}
inline int intercept(For<&MPI_Waitall>, int n, MPI_Request* requests, MPI_Status* statuses) {
  return wait_all(n, requests, statuses);
}
inline int intercept(For<&MPI_Waitany>, int n, MPI_Request* requests, int* which,
                     MPI_Status* status) {
  return wait_any(n, requests, which, status);
}
inline int intercept(For<&MPI_Waitsome>, int n, MPI_Request* requests, int* some, int* which,
                     MPI_Status* statuses) {
  return wait_some(n, requests, some, which, statuses);
}
inline int intercept(For<&MPI_Test>, MPI_Request* request, int* flag, MPI_Status* status) {
  return test(request, flag, status);
}
inline int intercept(For<&MPI_Testall>, int n, MPI_Request* requests, int* flag,
                     MPI_Status* statuses) {
  return test_all(n, requests, flag, statuses);
}
inline int intercept(For<&MPI_Testany>, int n, MPI_Request* requests, int* which, int* flag,
                     MPI_Status* status) {
  return test_any(n, requests, which, flag, status);
}
inline int intercept(For<&MPI_Testsome>, int n, MPI_Request* requests, int* some, int* which,
                     MPI_Status* statuses) {
  return test_some(n, requests, some, which, statuses);
}
inline int intercept(For<&MPI_Request_get_status>, MPI_Request request, int* flag,
                     MPI_Status* status) {
  return get_status(request, flag, status);
}
#if NEARPEAK_MPI_LEVEL >= 41
inline int intercept(For<&MPI_Request_get_status_all>, int n, const MPI_Request* requests,
                     int* flag, MPI_Status* statuses) {
  return get_status_all(n, requests, flag, statuses);
}
inline int intercept(For<&MPI_Request_get_status_any>, int n, const MPI_Request* requests,
                     int* which, int* flag, MPI_Status* status) {
  return get_status_any(n, requests, which, flag, status);
}
inline int intercept(For<&MPI_Request_get_status_some>, int n, const MPI_Request* requests,
                     int* some, int* which, MPI_Status* statuses) {
  return get_status_some(n, requests, some, which, statuses);
}
#endif
inline int intercept(For<&MPI_Request_free>, MPI_Request* request) {
  return free_of_application(request);
}
inline int intercept(For<&MPI_Start>, MPI_Request* request) { return start(request); }
inline int intercept(For<&MPI_Startall>, int n, MPI_Request* requests) {
  return start_all(n, requests);
}

inline int intercept(For<&MPI_Probe>, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  return probe(from, tag, comm, status);
}
inline int intercept(For<&MPI_Iprobe>, int from, int tag, MPI_Comm comm, int* flag,
                     MPI_Status* status) {
  return probe_now(from, tag, comm, flag, status);
}
inline int intercept(For<&MPI_Mprobe>, int from, int tag, MPI_Comm comm, MPI_Message* one,
                     MPI_Status* status) {
  return matched_probe(from, tag, comm, one, status);
}
inline int intercept(For<&MPI_Improbe>, int from, int tag, MPI_Comm comm, int* flag,
                     MPI_Message* one, MPI_Status* status) {
  return matched_probe_now(from, tag, comm, flag, one, status);
}

// Handles that are given again to others.
inline int free_comm(MPI_Comm* comm, decltype(&MPI_Comm_free) call) {
  const MPI_Comm handle = *comm;
  const Freeing<MPI_Comm> freeing(handle);
  note_comm_freed(handle, true);
  forget_comm(handle);
  const KeptCircle circle = take_circle(handle);
  const int code = call(comm);
  if (code == MPI_SUCCESS) {
    end_circle(circle);
  } else {
    give_circle(handle, circle);
    note_comm_freed(handle, false);
  }
  return code;
}
inline int intercept(For<&MPI_Comm_free>, MPI_Comm* comm) {
  return free_comm(comm, NEARPEAK_REAL(MPI_Comm_free));
}
inline int intercept(For<&MPI_Comm_disconnect>, MPI_Comm* comm) {
  return free_comm(comm, NEARPEAK_REAL(MPI_Comm_disconnect));
}
inline int intercept(For<&MPI_Type_commit>, MPI_Datatype* type) { return commit_type(type); }
inline int intercept(For<&MPI_Type_free>, MPI_Datatype* type) {
  if (!hold_free_of_type(*type)) return free_type(type);
  *type = calls::datatype_null();
  return MPI_SUCCESS;
}
inline int intercept(For<&MPI_Op_free>, MPI_Op* operation) {
  if (!hold_free_of_operation(*operation)) return NEARPEAK_REAL(MPI_Op_free)(operation);
  *operation = calls::op_null();
  return MPI_SUCCESS;
}

// Calls that do not wait, and that the MPI library orders with other collectives.
inline int intercept(For<&MPI_Ibarrier>, MPI_Comm comm, MPI_Request* request) {
  const Guard guard;
  withdraw_all_of(comm);
  return NEARPEAK_REAL(MPI_Ibarrier)(comm, request);
}
inline int intercept(For<&MPI_Comm_idup>, MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  const Guard guard;
  withdraw_all_of(comm);
  return NEARPEAK_REAL(MPI_Comm_idup)(comm, made, request);
}
#if NEARPEAK_MPI_LEVEL >= 40
inline int intercept(For<&MPI_Comm_idup_with_info>, MPI_Comm comm, MPI_Info info, MPI_Comm* made,
                     MPI_Request* request) {
  const Guard guard;
  withdraw_all_of(comm);
  return NEARPEAK_REAL(MPI_Comm_idup_with_info)(comm, info, made, request);
}
#endif

// What applications ask.
inline int intercept(For<&MPI_Comm_get_info>, MPI_Comm comm, MPI_Info* info) {
  return with_kinds(NEARPEAK_REAL(MPI_Comm_get_info)(comm, info), info);
}
inline int intercept(For<&MPI_Win_get_info>, MPI_Win window, MPI_Info* info) {
  const int code = NEARPEAK_REAL(MPI_Win_get_info)(window, info);
  return is_dynamic(window) ? code : with_kinds(code, info);
}
inline int intercept(For<&MPI_File_get_info>, MPI_File file, MPI_Info* info) {
  return without_kinds(NEARPEAK_REAL(MPI_File_get_info)(file, info), info);
}
inline int intercept(For<&MPI_Info_get>, MPI_Info info, const char* key, int room, char* value,
                     int* flag) {
  return get_info(info, key, room, value, flag);
}
inline int intercept(For<&MPI_Info_get_valuelen>, MPI_Info info, const char* key, int* length,
                     int* flag) {
  return get_info_length(info, key, length, flag);
}
#if NEARPEAK_MPI_LEVEL >= 40
inline int intercept(For<&MPI_Session_get_info>, MPI_Session session, MPI_Info* info) {
  return with_kinds(NEARPEAK_REAL(MPI_Session_get_info)(session, info), info);
}
inline int intercept(For<&MPI_Info_get_string>, MPI_Info info, const char* key, int* room,
                     char* value, int* flag) {
  return get_info_string(info, key, room, value, flag);
}
#endif

inline int intercept(For<&MPI_Finalize>) {
  finish_openings();
  end();
  return NEARPEAK_REAL(MPI_Finalize)();
}

// Before the layer is on.
#if NEARPEAK_MPI_LEVEL >= 40
inline int intercept_at_start(For<&MPI_Comm_create_from_group>, MPI_Group group, const char* tag,
                              MPI_Info info, MPI_Errhandler errors, MPI_Comm* made) {
  const int code = NEARPEAK_REAL(MPI_Comm_create_from_group)(group, tag, info, errors, made);
  if (code == MPI_SUCCESS && !world.on && *made != calls::comm_null()) begin_without_init(*made);
  return code;
}
inline int intercept_at_start(For<&MPI_Intercomm_create_from_groups>, MPI_Group group, int leader,
                              MPI_Group others, int their_leader, const char* tag, MPI_Info info,
                              MPI_Errhandler errors, MPI_Comm* made) {
  const int code = NEARPEAK_REAL(MPI_Intercomm_create_from_groups)(
      group, leader, others, their_leader, tag, info, errors, made);
  if (code == MPI_SUCCESS && !world.on && *made != calls::comm_null()) begin_without_init(*made);
  return code;
}
#endif
inline int intercept_at_start(For<&MPI_Init>, int* argc, char*** argv) {
  const int code = NEARPEAK_REAL(MPI_Init)(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}
inline int intercept_at_start(For<&MPI_Init_thread>, int* argc, char*** argv, int wanted,
                              int* given) {
  const int code = NEARPEAK_REAL(MPI_Init_thread)(argc, argv, wanted, given);
  if (code == MPI_SUCCESS) begin();
  return code;
}

}  // namespace nearpeak::layer
