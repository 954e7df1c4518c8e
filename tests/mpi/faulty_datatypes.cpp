// SPDX-License-Identifier: Apache-2.0
// Preloaded before an MPI library: what is received or unpacked of NEARPEAK_FAULTY_BYTES bytes has
// the fault of NEARPEAK_FAULT. Its blocks are what MPI itself writes to:
//   dropped    nothing has come
//   misplaced  the first two blocks are in each other's place; of one block, its ends
//   gap        the byte behind the first block is written too
//   late       the last byte is the one that was there before
//   twice      the message before has come again
//   once       no buffer but the first is written
// With the fault "slow" it takes NEARPEAK_SLOW_MS milliseconds.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "faulty.hpp"

namespace {

using Bytes = std::vector<char>;

// One buffer of a datatype, before and after something was written to it.
class Target {
 public:
  Target(void* data, int count, MPI_Datatype type, MPI_Comm comm) {
    const auto size = static_cast<int>(bytes_of(1, type));
    faulty_ = is_faulty_size(bytes_of(count, type));
    if (!faulty_ || type == MPI_PACKED) return;
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_true_extent(type, &low, &extent);
    data_ = static_cast<char*>(data) + low;
    // Extents add up where there are several, which are of a type without gaps then.
    bytes_ = static_cast<std::size_t>(count == 1 ? extent : MPI_Aint{count} * size);
    before_.assign(data_, data_ + bytes_);
    find_blocks(count, size, type, comm);
  }

  void spoil() {
    if (!faulty_) return;
    const std::string fault = variable("NEARPEAK_FAULT");
    if (fault == "slow")
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::atoi(variable("NEARPEAK_SLOW_MS").c_str())));
    if (data_ == nullptr) return;
    static std::map<std::size_t, Bytes> earlier;  // by how far they reach
    const Bytes come(data_, data_ + bytes_);
    const Block& first = blocks_.front();
    static const char* const only = data_;
    if (fault == "dropped" || (fault == "once" && data_ != only))
      std::copy(before_.begin(), before_.end(), data_);
    if (fault == "misplaced" && blocks_.size() > 1)
      std::swap_ranges(data_ + first.first, data_ + first.end, data_ + blocks_[1].first);
    if (fault == "misplaced" && blocks_.size() == 1) std::swap(data_[0], data_[first.end - 1]);
    if (fault == "gap") data_[first.end] ^= 1;
    if (fault == "late") data_[blocks_.back().end - 1] = before_[blocks_.back().end - 1];
    if (fault == "twice" && earlier.count(bytes_) != 0)
      std::copy(earlier[bytes_].begin(), earlier[bytes_].end(), data_);
    earlier[bytes_] = come;
  }

 private:
  struct Block {
    std::size_t first;
    std::size_t end;
  };

  void find_blocks(int count, int size, MPI_Datatype type, MPI_Comm comm) {
    if (count != 1) {
      blocks_.push_back({0, bytes_});
      return;
    }
    Bytes packed(static_cast<std::size_t>(size), 1);
    Bytes written(bytes_ + 1, 0);
    int place = 0;
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    PMPI_Type_get_true_extent(type, &low, &extent);
    PMPI_Unpack(packed.data(), size, &place, written.data() - low, 1, type, comm);
    for (std::size_t i = 0; i < bytes_; ++i) {
      if (written[i] == 0) continue;
      if (i == 0 || written[i - 1] == 0) blocks_.push_back({i, i});
      blocks_.back().end = i + 1;
    }
  }

  bool faulty_ = false;
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
  Bytes before_;
  std::vector<Block> blocks_;
};

}  // namespace

extern "C" {

int MPI_Recv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  Target target(data, count, type, comm);
  const int result = PMPI_Recv(data, count, type, source, tag, comm, status);
  target.spoil();
  return result;
}

int MPI_Unpack(const void* packed, int bytes, int* place, void* data, int count, MPI_Datatype type,
               MPI_Comm comm) {
  Target target(data, count, type, comm);
  const int result = PMPI_Unpack(packed, bytes, place, data, count, type, comm);
  target.spoil();
  return result;
}

}  // extern "C"
