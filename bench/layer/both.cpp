// SPDX-License-Identifier: Apache-2.0
#include "layer/both.hpp"

#include <climits>
#include <cstring>

#include "layer/send.hpp"
#include "layer/types.hpp"

namespace nearpeak::layer {

int copy_of(const char* call, const void* data, const Found& found, MPI_Count n, MPI_Datatype type,
            MPI_Comm comm, Copy& copy) {
  const Guard guard;
  Outgoing message{data, n, type, 0, 0, comm, found};
  copy.n = n;
  copy.type = type;
  if (found.on_device) {
    locate(message);
    copy.memory = staged(message);
    copy.data = begin_of(copy.memory, message);
    return MPI_SUCCESS;
  }
  const std::size_t bytes = room_of(n, type);
  copy.memory = host_memory_of(bytes);
  copy.data = copy.memory.get();
  if (type_of(type).dense) {
    std::memcpy(copy.memory.get(), data, bytes);
    return MPI_SUCCESS;
  }
  if (bytes > INT_MAX || n > INT_MAX)
    end_job(std::string(call) + " of more than 2 GiB of a type with gaps is not done");
  int place = 0;
  copy.n = static_cast<MPI_Count>(bytes);
  copy.type = calls::byte_type();
  return NEARPEAK_REAL(MPI_Pack)(data, static_cast<int>(n), type, copy.memory.get(),
                                 static_cast<int>(bytes), &place, comm);
}

}  // namespace nearpeak::layer
