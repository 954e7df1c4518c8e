// SPDX-License-Identifier: Apache-2.0
// Messages, as the application describes them to MPI.
#pragma once

#include <cstddef>

#include "calls/real.hpp"
#include "layer/copy/devices.hpp"
#include "layer/datatype/types.hpp"

namespace nearpeak::layer {

// Which sends may go by an envelope: those that may be complete before they are received.
enum class Mode { kUsual, kHostMemory };

// What a send is given.
struct Outgoing {
  const void* data;
  MPI_Count n;
  MPI_Datatype type;
  int to;
  int tag;
  MPI_Comm comm;
  Found found{};         // of the data
  bool waits = false;    // the call returns when it is complete
  bool is_copy = false;  // memory of the layer's is sent: another copy would be no better
  Span span{};
  Located place{};
};

// What a receive is given.
struct Incoming {
  void* data;
  MPI_Count n;
  MPI_Datatype type;
  Found found;  // of the data
};

// Where a message comes from.
struct Origin {
  int from;
  int tag;
  MPI_Comm comm;
};

// Where a receive puts its message.
struct Target {
  void* data = nullptr;
  MPI_Count n = 0;
  MPI_Datatype type{};
  std::size_t room = 0;  // bytes
  bool dense = true;
  bool on_device = false;
  Located place{};  // there

  // Whether an envelope can be received where the application wants the message. MPICH takes no
  // part of a number into a type with gaps.
  bool takes_envelope() const { return dense && !on_device; }
};

// What the application learns of a message that was received.
struct MessageStatus {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  MPI_Count bytes = 0;
};

inline int class_of(int error) {
  int found = MPI_SUCCESS;
  if (error != MPI_SUCCESS) NEARPEAK_REAL(MPI_Error_class)(error, &found);
  return found;
}

// Of the message that was received.
inline std::size_t bytes_of(const MPI_Status& status) {
  int few = 0;  // MPI_UNDEFINED, which is below 0, of more than an int has
  NEARPEAK_REAL(MPI_Get_count)(&status, calls::byte_type(), &few);
  if (few >= 0) return static_cast<std::size_t>(few);
  MPI_Count bytes = 0;
  NEARPEAK_REAL(MPI_Get_elements_x)(&status, calls::byte_type(), &bytes);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace nearpeak::layer
