// SPDX-License-Identifier: Apache-2.0
// An application with sessions (MPI 4.0), without MPI_Init, or, as "both", with it.
#include <mpi.h>

#include <cstdio>
#include <cstring>

namespace {

MPI_Comm made_from(MPI_Session session, const char* set) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, set, &group);
  MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}

}  // namespace

int main(int argc, char** argv) {
  const bool both = argc > 1 && std::strcmp(argv[1], "both") == 0;
  if (both) MPI_Init(&argc, &argv);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Comm comm = made_from(session, "mpi://WORLD");
  MPI_Comm again = made_from(session, "mpi://WORLD");
  int rank = 0, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, again);
  if (rank == 0) std::printf("sum %d\n", sum);
  std::fflush(stdout);
  MPI_Comm_free(&again);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  if (both) MPI_Finalize();
  return 0;
}
