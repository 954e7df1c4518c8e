// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: messages of at least 1000 bytes have the fault of
// NEARPEAK_FAULT:
//   zeros    zeros are sent
//   17th     from the 17th buffer on that is sent from, a byte is another
//   leak     1 KiB of memory is lost each time
//   refused  the call returns an error
//   smaller  zeros are sent where a larger message was sent before
//   kept     what an address held when it was first sent from is sent
//   busy     zeros are sent while a stream of the fake CUDA driver has work
// With the fault "inplace" an allreduce in place is not done, and with "lost" no data comes from
// messages with the tag 999.
// With the fault "end" the job crashes at its end, whatever was sent.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
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

// What is sent from an address: always what was sent from it first.
const void* kept(const void* data, int bytes) {
  static std::map<const void*, std::vector<char>> all;
  const auto* const begin = static_cast<const char*>(data);
  return all.try_emplace(data, begin, begin + bytes).first->second.data();
}

bool stream_is_busy() {
  void* const driver = dlopen(variable("NEARPEAK_CUDA_LIBRARY").c_str(), RTLD_NOW | RTLD_NOLOAD);
  return driver != nullptr && reinterpret_cast<int (*)()>(dlsym(driver, "fake_cuda_busy"))() != 0;
}

bool sends_zeros(int bytes, const std::string& fault) {
  static int most = 0;
  most = std::max(most, bytes);
  if (fault == "smaller") return bytes < most;
  return fault == "zeros" || (fault == "busy" && stream_is_busy());
}

const void* with_fault(const void* data, int bytes, const std::string& fault) {
  static std::set<const void*> seen;
  seen.insert(data);
  if (fault == "leak") std::memset(std::malloc(1024), 1, 1024);
  if (fault == "kept") return kept(data, bytes);
  const bool corrupt = fault == "17th" && seen.size() >= 17;
  const bool zeros = sends_zeros(bytes, fault);
  if (!zeros && !corrupt) return data;
  std::vector<char>& copy = next_copy();
  const auto* const begin = static_cast<const char*>(data);
  copy.assign(begin, begin + bytes);
  if (zeros) std::fill(copy.begin(), copy.end(), 0);
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

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  static std::vector<char> nobody;
  if (variable("NEARPEAK_FAULT") == "lost" && tag == 999) {
    nobody.resize(std::max(nobody.size(), bytes_of(count, type)));
    data = nobody.data();
  }
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  if (variable("NEARPEAK_FAULT") == "inplace" && send == MPI_IN_PLACE) return MPI_SUCCESS;
  return PMPI_Allreduce(send, receive, count, type, op, comm);
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
