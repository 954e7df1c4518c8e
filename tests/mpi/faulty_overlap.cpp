// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: what was begun on NEARPEAK_FAULTY_BYTES bytes ends on rank 1,
// when it is waited for, with the fault of NEARPEAK_FAULT:
//   sum      the last number is another
//   dropped  what was in the receive buffer before is there again
//   beside   the same, but only where it was tested for before
//   late     the last bytes are those that were there before
//   gap      a byte behind the buffer is written
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "faulty.hpp"

namespace {

// The one receive buffer that is open, where it is to go wrong.
char* open_data = nullptr;
std::vector<char> before;
bool tested = false;

void opened(void* data, int count, MPI_Datatype type, MPI_Comm comm) {
  const std::size_t bytes = bytes_of(count, type);
  if (rank_in(comm) != 1 || !is_faulty_size(bytes)) return;
  open_data = static_cast<char*>(data);
  before.assign(open_data, open_data + bytes);
  tested = false;
}

void finished() {
  if (open_data == nullptr) return;
  const std::size_t bytes = before.size();
  const std::string fault = fault_of_size(bytes);
  const std::size_t last = std::min<std::size_t>(bytes, 8);
  if (fault == "sum") open_data[bytes - 1] ^= 1;
  if (fault == "dropped" || (fault == "beside" && tested))
    std::memcpy(open_data, before.data(), bytes);
  if (fault == "late") std::memcpy(open_data + bytes - last, &before[bytes - last], last);
  if (fault == "gap") open_data[bytes] ^= 1;
  open_data = nullptr;
}

}  // namespace

extern "C" {

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  opened(data, count, type, comm);
  return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Iallreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  opened(in, count, type, comm);
  return PMPI_Iallreduce(out, in, count, type, op, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  opened(data, count, type, comm);
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  tested = true;
  return PMPI_Test(request, done, status);
}

int MPI_Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]) {
  tested = true;
  return PMPI_Testall(count, requests, done, statuses);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const int result = PMPI_Wait(request, status);
  finished();
  return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const int result = PMPI_Waitall(count, requests, statuses);
  finished();
  return result;
}

}  // extern "C"
