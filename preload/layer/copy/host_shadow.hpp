// SPDX-License-Identifier: Apache-2.0
// Host memory in the place of a buffer on a device, for a call that is given any datatypes. Who
// calls holds the guard.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layer/copy/devices.hpp"
#include "layer/copy/host_memory.hpp"
#include "layer/datatype/types.hpp"

namespace nearpeak::layer {

// Elements that lie behind one another, `offset` bytes from a buffer on.
struct Part {
  MPI_Aint offset;
  MPI_Count n;
  MPI_Datatype type;
};

// What a call does with a buffer.
enum class Use { kRead, kWrite, kReadWrite };

class HostShadow {
 public:
  // The types may be freed then.
  HostShadow(Devices& devices, const void* buffer, const Located& place,
             const std::vector<Part>& parts, Use use);

  // What the call is given in the place of the buffer.
  char* data() const { return memory_.get() - low_; }
  // Copies from the device what the call reads.
  void fill();
  // Copies to the device what the call has written, and nothing between.
  void write_back();

 private:
  struct Written {
    MPI_Aint offset;
    MPI_Count n;
    MPI_Count extent;
    std::shared_ptr<const Runs> runs;  // or, of all elements together:
    std::optional<Layout> layout;
  };

  Devices* devices_;
  char* buffer_;
  Located place_;
  MPI_Aint low_ = 0;  // bytes from the buffer on, where the memory begins
  HostMemory memory_;
  std::vector<Span> read_;
  std::vector<Written> written_;
};

// Of an access whose end more than one call may tell: who is told first writes them back.
using SharedShadows = std::shared_ptr<std::vector<HostShadow>>;
// Then there are none of them any more.
void write_back_once(std::vector<HostShadow>& shadows);

}  // namespace nearpeak::layer
