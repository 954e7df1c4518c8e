// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library that has streams and no devices: messages that are given to a
// stream are sent at once. With NEARPEAK_FAULT=dropped, what rank 1 is to receive does not arrive
// in its buffer. How many messages rank 0 has given to streams is in the file NEARPEAK_GIVEN.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "faulty.hpp"

static long given = 0;

extern "C" {

int MPI_Finalize() {
  const std::string file = variable("NEARPEAK_GIVEN");
  if (rank_in(MPI_COMM_WORLD) == 0 && !file.empty()) std::ofstream(file) << given;
  return PMPI_Finalize();
}

int MPIX_GPU_query_support(int, int* supported) {
  *supported = 1;
  return MPI_SUCCESS;
}

int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream) {
  char value[64] = "";
  int found = 0;
  PMPI_Info_get(info, "type", sizeof(value) - 1, value, &found);
  if (!found || std::strcmp(value, "cudaStream_t") != 0) return MPI_ERR_INFO_VALUE;
  PMPI_Info_get(info, "value", sizeof(value) - 1, value, &found);
  if (!found) return MPI_ERR_INFO_VALUE;
  *stream = MPIX_STREAM_NULL + 1;
  return MPI_SUCCESS;
}

int MPIX_Stream_free(MPIX_Stream* stream) {
  *stream = MPIX_STREAM_NULL;
  return MPI_SUCCESS;
}

int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream, MPI_Comm* made) {
  return PMPI_Comm_dup(comm, made);
}

int MPIX_Send_enqueue(const void* data, int count, MPI_Datatype type, int to, int tag,
                      MPI_Comm comm) {
  ++given;
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPIX_Recv_enqueue(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                      MPI_Status* status) {
  if (rank_in(comm) != 1 || variable("NEARPEAK_FAULT") != "dropped")
    return PMPI_Recv(data, count, type, from, tag, comm, status);
  std::vector<char> nowhere(bytes_of(count, type));
  return PMPI_Recv(nowhere.data(), count, type, from, tag, comm, status);
}

}  // extern "C"
