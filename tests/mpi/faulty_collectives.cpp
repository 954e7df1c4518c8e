// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: collective operations on blocks of NEARPEAK_FAULTY_BYTES bytes
// end with the fault of NEARPEAK_FAULT on rank NEARPEAK_FAULTY_RANK:
//   sum      the last number is another
//   dropped  what was in the receive buffer before is there again
//   swapped  the first two blocks are in each other's place
//   gap      a byte behind the buffer is written
//   late     the last bytes are those that were there before
//   moved    rows of 64 floats are in each other's place
//   once     no buffer but the first is written
// With the fault `early` nobody waits in MPI_Ibarrier.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "faulty.hpp"

namespace {

// A receive buffer of so many blocks, before the operation and after it.
class Received {
 public:
  Received(void* data, int blocks, std::size_t block, MPI_Comm comm)
      : data_(static_cast<char*>(data)), block_(block), bytes_(blocks * block) {
    if (is_faulty_rank(comm) && data != nullptr) fault_ = fault_of_size(block);
    if (!fault_.empty()) before_.assign(data_, data_ + bytes_);
  }
  ~Received() {
    const std::size_t last = bytes_ < 8 ? bytes_ : 8;
    if (fault_ == "sum") data_[bytes_ - 1] ^= 1;
    if (fault_ == "dropped") std::memcpy(data_, before_.data(), bytes_);
    if (fault_ == "swapped")
      for (std::size_t i = 0; i < block_; ++i) std::swap(data_[i], data_[block_ + i]);
    if (fault_ == "moved")
      for (std::size_t i = 0; i < kRow; ++i) std::swap(data_[i], data_[kRow + i]);
    static const char* const first = data_;
    if (fault_ == "once" && data_ != first) std::memcpy(data_, before_.data(), bytes_);
    if (fault_ == "gap") data_[bytes_] ^= 1;
    if (fault_ == "late") std::memcpy(data_ + bytes_ - last, &before_[bytes_ - last], last);
  }

 private:
  static constexpr std::size_t kRow = 64 * sizeof(float);

  char* data_;
  std::size_t block_;
  std::size_t bytes_;
  std::string fault_;
  std::vector<char> before_;
};

int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

bool is_root(int root, MPI_Comm comm) { return rank_in(comm) == root; }

}  // namespace

extern "C" {

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const Received it(is_root(root, comm) ? nullptr : data, 1, bytes_of(count, type), comm);
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Gather(const void* out, int sent, MPI_Datatype out_type, void* in, int count,
               MPI_Datatype type, int root, MPI_Comm comm) {
  const bool here = is_root(root, comm);
  const Received it(here ? in : nullptr, size_of(comm), here ? bytes_of(count, type) : 0, comm);
  return PMPI_Gather(out, sent, out_type, in, count, type, root, comm);
}

int MPI_Allgather(const void* out, int sent, MPI_Datatype out_type, void* in, int count,
                  MPI_Datatype type, MPI_Comm comm) {
  const Received it(in, size_of(comm), bytes_of(count, type), comm);
  return PMPI_Allgather(out, sent, out_type, in, count, type, comm);
}

int MPI_Alltoall(const void* out, int sent, MPI_Datatype out_type, void* in, int count,
                 MPI_Datatype type, MPI_Comm comm) {
  const Received it(in, size_of(comm), bytes_of(count, type), comm);
  return PMPI_Alltoall(out, sent, out_type, in, count, type, comm);
}

int MPI_Neighbor_alltoall(const void* out, int sent, MPI_Datatype out_type, void* in, int count,
                          MPI_Datatype type, MPI_Comm comm) {
  const Received it(in, 2, bytes_of(count, type), comm);
  return PMPI_Neighbor_alltoall(out, sent, out_type, in, count, type, comm);
}

int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  const Received it(in, 1, bytes_of(count, type), comm);
  return PMPI_Allreduce(out, in, count, type, op, comm);
}

int MPI_Scan(const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Received it(in, 1, bytes_of(count, type), comm);
  return PMPI_Scan(out, in, count, type, op, comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  if (variable("NEARPEAK_FAULT") != "early") return PMPI_Ibarrier(comm, request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

}  // extern "C"
