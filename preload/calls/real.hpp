// SPDX-License-Identifier: Apache-2.0
#pragma once

// Its functions are what this library shows.
#pragma GCC visibility push(default)
#ifdef NEARPEAK_STANDARD_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif
#pragma GCC visibility pop

#include <type_traits>

namespace nearpeak::calls {

// A function of the MPI library by its name. The library need not be loaded before the
// first call: this one is preloaded into launchers and shells too. Ends the process where there is
// none.
void* find(const char* name);
// Null where there is none.
void* find_if_there(const char* name);
// A variable: that which the library uses may be in the program.
void* find_variable(const char* name);

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(find(name));
}

// Handles that are addresses in the library in some ABIs.
#ifdef OMPI_MAJOR_VERSION
template <typename Handle>
Handle handle(const char* name) {
  return static_cast<Handle>(find_variable(name));
}
inline MPI_Comm comm_world() {
  static const auto found = handle<MPI_Comm>("ompi_mpi_comm_world");
  return found;
}
inline MPI_Datatype byte_type() {
  static const auto found = handle<MPI_Datatype>("ompi_mpi_byte");
  return found;
}
inline MPI_Datatype datatype_null() {
  static const auto found = handle<MPI_Datatype>("ompi_mpi_datatype_null");
  return found;
}
inline MPI_Comm comm_self() {
  static const auto found = handle<MPI_Comm>("ompi_mpi_comm_self");
  return found;
}
inline MPI_Comm comm_null() {
  static const auto found = handle<MPI_Comm>("ompi_mpi_comm_null");
  return found;
}
inline MPI_Request request_null() {
  static const auto found = handle<MPI_Request>("ompi_request_null");
  return found;
}
inline MPI_Message message_null() {
  static const auto found = handle<MPI_Message>("ompi_message_null");
  return found;
}
inline MPI_Op op_null() {
  static const auto found = handle<MPI_Op>("ompi_mpi_op_null");
  return found;
}
inline MPI_Info info_env() {
  static const auto found = handle<MPI_Info>("ompi_mpi_info_env");
  return found;
}
#else
inline MPI_Comm comm_world() { return MPI_COMM_WORLD; }
inline MPI_Comm comm_self() { return MPI_COMM_SELF; }
inline MPI_Comm comm_null() { return MPI_COMM_NULL; }
inline MPI_Datatype byte_type() { return MPI_BYTE; }
inline MPI_Datatype datatype_null() { return MPI_DATATYPE_NULL; }
inline MPI_Request request_null() { return MPI_REQUEST_NULL; }
inline MPI_Message message_null() { return MPI_MESSAGE_NULL; }
inline MPI_Op op_null() { return MPI_OP_NULL; }
inline MPI_Info info_env() { return MPI_INFO_ENV; }
#endif

}  // namespace nearpeak::calls

// The PMPI function of this name, looked up once.
#define NEARPEAK_REAL(name) NEARPEAK_REAL_OF(P##name, "P" #name)
#define NEARPEAK_REAL_OF(name, text)                                            \
  ([]() {                                                                       \
    static auto* const function =                                               \
        ::nearpeak::calls::real<std::remove_reference_t<decltype(name)>>(text); \
    return function;                                                            \
  }())

// The function of this name is also that of the profiling interface, which a tool before it calls.
#define ALWAYS_PROFILED(name) ALIAS_OF(name)
#define ALIAS_OF(name) \
  extern "C" __attribute__((alias(#name), visibility("default"))) decltype(P##name) P##name;
// The Fortran bindings of Open MPI call those of the profiling interface; those of MPICH the
// others.
#ifdef OMPI_MAJOR_VERSION
#define ALSO_PROFILED(name) ALIAS_OF(name)
#else
#define ALSO_PROFILED(name)
#endif
