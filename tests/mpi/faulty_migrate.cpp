// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: what MPI_Alltoallv and MPI_Neighbor_alltoallv bring to rank
// NEARPEAK_FAULTY_RANK has the fault of NEARPEAK_FAULT:
//   doubled  the first NEARPEAK_FAULTY_BYTES bytes are those that follow them
//   altered  a bit of the last byte is another
//   stale    what was in the buffer before is there again
// With the fault "counted" MPI_Alltoall and MPI_Neighbor_alltoall bring it numbers that cannot be.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "faulty.hpp"

namespace {

// What a rank receives, before it does and after.
class Received {
 public:
  Received(void* data, const int* counts, int partners, MPI_Comm comm)
      : data_(static_cast<char*>(data)) {
    if (!is_faulty_rank(comm)) return;
    fault_ = variable("NEARPEAK_FAULT");
    std::size_t bytes = 0;
    for (int i = 0; i < partners; ++i) bytes += static_cast<std::size_t>(counts[i]);
    before_.assign(data_, data_ + bytes);
  }
  ~Received() {
    const std::size_t record = std::strtoul(variable("NEARPEAK_FAULTY_BYTES").c_str(), nullptr, 10);
    if (before_.size() < 2 * record) return;
    if (fault_ == "doubled") std::memcpy(data_, data_ + record, record);
    if (fault_ == "altered") data_[before_.size() - 1] ^= 1;
    if (fault_ == "stale") std::memcpy(data_, before_.data(), before_.size());
  }

 private:
  char* data_;
  std::string fault_;
  std::vector<char> before_;
};

void miscount(void* counts, MPI_Comm comm) {
  if (variable("NEARPEAK_FAULT") == "counted" && is_faulty_rank(comm))
    static_cast<int*>(counts)[0] = -1;
}

}  // namespace

extern "C" {

int MPI_Alltoall(const void* out, int sent, MPI_Datatype out_type, void* in, int count,
                 MPI_Datatype type, MPI_Comm comm) {
  const int result = PMPI_Alltoall(out, sent, out_type, in, count, type, comm);
  miscount(in, comm);
  return result;
}

int MPI_Neighbor_alltoall(const void* out, int sent, MPI_Datatype out_type, void* in, int count,
                          MPI_Datatype type, MPI_Comm comm) {
  const int result = PMPI_Neighbor_alltoall(out, sent, out_type, in, count, type, comm);
  miscount(in, comm);
  return result;
}

int MPI_Alltoallv(const void* out, const int* sent, const int* out_starts, MPI_Datatype out_type,
                  void* in, const int* counts, const int* starts, MPI_Datatype type,
                  MPI_Comm comm) {
  int partners = 0;
  PMPI_Comm_size(comm, &partners);
  const Received it(in, counts, partners, comm);
  return PMPI_Alltoallv(out, sent, out_starts, out_type, in, counts, starts, type, comm);
}

int MPI_Neighbor_alltoallv(const void* out, const int* sent, const int* out_starts,
                           MPI_Datatype out_type, void* in, const int* counts, const int* starts,
                           MPI_Datatype type, MPI_Comm comm) {
  int partners = 0, to = 0, weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &partners, &to, &weighted);
  const Received it(in, counts, partners, comm);
  return PMPI_Neighbor_alltoallv(out, sent, out_starts, out_type, in, counts, starts, type, comm);
}

}  // extern "C"
