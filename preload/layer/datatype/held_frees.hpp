// SPDX-License-Identifier: Apache-2.0
// Datatypes and operations that the application frees while a call that it has made with them is
// still to be given to the MPI library: they are freed when it is.
#pragma once

#include <utility>

#include "calls/real.hpp"

namespace nearpeak::layer {

// While one is there, nothing is freed.
class FreesHeld {
 public:
  FreesHeld();
  FreesHeld(FreesHeld&& other) noexcept : holds_(std::exchange(other.holds_, false)) {}
  ~FreesHeld();
  FreesHeld& operator=(const FreesHeld&) = delete;

 private:
  bool holds_ = true;
};

// Whether it is freed later.
bool hold_free_of_type(MPI_Datatype type);
bool hold_free_of_operation(MPI_Op operation);

}  // namespace nearpeak::layer
