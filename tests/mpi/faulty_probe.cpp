// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: messages of at least 1000 bytes have the fault of
// NEARPEAK_FAULT:
//   zeros    zeros are sent
//   17th     from the 17th buffer on that is sent from, a byte is another
//   leak     1 KiB of memory is lost each time
//   refused  the call returns an error
// With the fault "end" the job crashes at its end, whatever was sent.
#include <mpi.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "faulty.hpp"

namespace {

constexpr int kLeast = 1000;

// What is on its way stays where it is for as long as some messages last.
std::vector<char>& next_copy() {
  static std::array<std::vector<char>, 256> all;
  static std::size_t next = 0;
  return all[next++ % all.size()];
}

const void* with_fault(const void* data, int bytes, const std::string& fault) {
  static std::set<const void*> seen;
  seen.insert(data);
  if (fault == "leak") std::memset(std::malloc(1024), 1, 1024);
  const bool corrupt = fault == "17th" && seen.size() >= 17;
  if (fault != "zeros" && !corrupt) return data;
  std::vector<char>& copy = next_copy();
  const auto* const begin = static_cast<const char*>(data);
  copy.assign(begin, begin + bytes);
  if (fault == "zeros") std::fill(copy.begin(), copy.end(), 0);
  if (corrupt) copy[500] ^= 1;
  return copy.data();
}

template <class Send>
int send(const void* data, int count, MPI_Comm comm, Send really) {
  const std::string fault = variable("NEARPEAK_FAULT");
  if (fault.empty() || count < kLeast) return really(data);
  if (fault == "refused") {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
  }
  return really(with_fault(data, count, fault));
}

}  // namespace

extern "C" {

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send(data, count, comm,
              [=](const void* what) { return PMPI_Send(what, count, type, to, tag, comm); });
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return send(data, count, comm, [=](const void* what) {
    return PMPI_Isend(what, count, type, to, tag, comm, request);
  });
}

// Comes back, as MPICH's does: its launcher ends the process a little later.
int MPI_Abort(MPI_Comm comm, int code) {
  return variable("NEARPEAK_FAULT") == "refused" ? MPI_SUCCESS : PMPI_Abort(comm, code);
}

int MPI_Finalize() {
  if (variable("NEARPEAK_FAULT") == "end") std::raise(SIGSEGV);
  return PMPI_Finalize();
}

}  // extern "C"
